"""The Model Context Protocol: a message of JSON-RPC 2.0 in, its answer out.

Two generations of clients are answered. A client of the revisions until 2025 begins with
``initialize``, which settles the revision. One of 2026 names its revision in the ``_meta`` of every
request, and begins with ``server/discover``. Nothing here depends on earlier requests.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import Any

from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.errors import RequestError, failure, panics_as_errors
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import check_characters, loads
from ranklet.handlers.logs import describe_stack
from ranklet.handlers.mcp.tools import WRITES, call, tools, write
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BusyError, RankletError
from ranklet.version import __version__

Message = dict[str, Any]

# Revisions that `initialize` settles; that of 2025-03-26 alone would need lists of messages.
SETTLED = ("2024-11-05", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)  # those that a request names itself
REVISION = "io.modelcontextprotocol/protocolVersion"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER = "io.modelcontextprotocol/serverInfo"

NO_JSON, NO_REQUEST, NO_METHOD, WRONG_PARAMS = -32700, -32600, -32601, -32602
TOO_MANY = -32000
WRONG_REVISION = -32022
_STATUSES = {NO_METHOD: 404} | dict.fromkeys(
    (NO_JSON, NO_REQUEST, WRONG_PARAMS, WRONG_REVISION), 400
)
CALL, CANCELLED = "tools/call", "notifications/cancelled"  # the methods that `service` must know
_ABILITIES: Mapping[str, Any] = {"tools": {}}
_IDENTITY = {"name": "ranklet", "version": __version__}


class FaultError(RankletError):
    """A message that cannot be answered as it was asked.

    Attributes:
        code: JSON-RPC's or the protocol's code of the fault.
        data: what a program can do about it; {} if there is nothing to say.
        identity: the message's id, None if it has none that can be repeated.
        silent: whether nobody waits for an answer.
    """

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.code, self.data = code, data
        self.identity: str | float | None = None
        self.silent = False


def read(line: bytes) -> Message:
    """Return the message in a line.

    Raises:
        FaultError: the line holds no message of JSON-RPC 2.0.
    """
    message: Any = None
    try:
        message = loads(line.decode("utf-8-sig"))  # as other bodies, it may begin with a BOM
        check_characters(message)
        _check_form(message)
    except UnicodeDecodeError:
        fault = FaultError(NO_JSON, "the message is not UTF-8")
    except (RequestError, FaultError) as error:
        fault = FaultError(NO_REQUEST, str(error))
    except (ValueError, RecursionError) as error:
        fault = FaultError(NO_JSON, f"the message is not JSON: {str(error)[:100]}")
    else:
        checked: Message = message
        return checked
    known = message if isinstance(message, dict) else {}
    fault.identity = _repeatable(known.get("id"))
    fault.silent = "method" in known and "id" not in known
    raise fault


def _check_form(message: Any) -> None:
    known = message if isinstance(message, dict) else {}
    if (
        known.get("jsonrpc") != "2.0"
        or not ("method" in known or "result" in known or "error" in known)
        or not isinstance(known.get("method", ""), str)
        or not isinstance(known.get("params"), dict | None)
        or ("id" in known and _repeatable(known["id"]) is None)
    ):
        raise FaultError(NO_REQUEST, "this is no message of JSON-RPC 2.0")


def _repeatable(identity: Any) -> str | float | None:
    """Return an id that an answer can have, else None."""
    if isinstance(identity, bool) or not isinstance(identity, str | int | float):
        return None
    if isinstance(identity, str):
        return None if any(0xD800 <= ord(each) < 0xE000 for each in identity) else identity
    return identity if isinstance(identity, int) or isfinite(identity) else None


def check_revision(header: str | None) -> None:
    """Check the revision that a client names in the header MCP-Protocol-Version, if it does.

    Raises:
        FaultError: the server does not have it.
    """
    if header is not None and header not in (*SETTLED, *STATELESS):
        raise _unsupported(header, (*SETTLED, *STATELESS))


def _unsupported(revision: str, supported: Sequence[str]) -> FaultError:
    return FaultError(
        WRONG_REVISION,
        f"unsupported revision {revision[:40]!r}; the server has {', '.join(supported)}",
        supported=list(supported),
        requested=revision[:40],
    )


def written(message: Message) -> bytes:
    """Return a message as a line; a lone surrogate, which UTF-8 cannot hold, as an escape."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def http_status(answer: Message, message: Message, header: str | None) -> int:
    """Return the HTTP status of an answer to a message.

    Until 2025 an error is an answer like any other; since 2026 the code of an error decides.

    Args:
        answer: the answer.
        message: the message.
        header: MCP-Protocol-Version, None without one.
    """
    params = message.get("params") or {}
    stated = isinstance(meta := params.get("_meta"), dict) and REVISION in meta
    if "error" not in answer or not (stated or header in STATELESS):
        return 200
    return _STATUSES.get(answer["error"]["code"], 200)


def refusal(fault: FaultError) -> Message | None:
    """Return the answer to a message that has a fault; None if nobody waits for one."""
    if fault.silent:
        return None
    error: Message = {"code": fault.code, "message": str(fault)}
    if fault.data:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": fault.identity, "error": error}


def writes(line: bytes) -> bool:
    """Return whether a line has a message that asks to write."""
    try:
        return is_write(read(line))
    except FaultError:
        return False


def is_write(message: Message) -> bool:
    """Return whether a message asks to write, and thus may wait for another program."""
    name = (message.get("params") or {}).get("name")
    return message.get("method") == CALL and isinstance(name, str) and name in WRITES


class Protocol:
    """What a bundle answers to a message.

    Args:
        bundle: returns a bundle with a collection, with what was written to it until now.
        limits: the largest arguments of a call.
        about: what the documents are, for the tools' descriptions.
        writer: remembers and forgets; None if nothing may be written.
        wrote: called after each write.
    """

    def __init__(
        self,
        bundle: Callable[[], Bundle],
        limits: Limits,
        about: str = "",
        *,
        writer: Writer | None = None,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        self._bundle, self._limits, self._about = bundle, limits, about
        self._writer, self._wrote = writer, wrote
        self._methods: dict[str, Callable[[Message], Message]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": lambda _: {},
            "tools/list": self._list,
            CALL: self._call,
        }

    def answer(self, message: Message) -> Message | None:
        """Return the answer to a message; None if it wants none.

        Whatever goes wrong is an answer, too. The standard error has the stack of a fault that is
        the server's own.
        """
        if "method" not in message or "id" not in message:
            return None  # a notification, or the answer to a request, of which this server has none
        try:
            result = self._result(message["method"], message.get("params") or {})
        except FaultError as fault:
            fault.identity = message["id"]
            return refusal(fault)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _result(self, method: str, params: Message) -> Message:
        if method not in self._methods:
            raise FaultError(
                NO_METHOD,
                f"unknown method {method[:40]!r}; the methods are {', '.join(self._methods)}",
            )
        meta = params.get("_meta")
        stated = meta if isinstance(meta, dict) and REVISION in meta else None
        if stated is not None:
            _check_stateless(stated)
        result = self._methods[method](params)
        if stated is not None or method == "server/discover":
            result = {"resultType": "complete", **result}
            if method != CALL:  # the tools may be others after the next start of the server
                result |= {"ttlMs": 0, "cacheScope": "private"}
        return result

    def _initialize(self, params: Message) -> Message:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise FaultError(WRONG_PARAMS, "'protocolVersion' must be a string, such as 2025-11-25")
        older = [each for each in SETTLED if each <= wanted]
        return {
            "protocolVersion": older[-1] if older else SETTLED[0],
            "capabilities": _ABILITIES,
            "serverInfo": _IDENTITY,
        }

    def _discover(self, params: Message) -> Message:  # noqa: ARG002
        return {
            "supportedVersions": list(STATELESS),
            "capabilities": _ABILITIES,
            "_meta": {SERVER: _IDENTITY},
        }

    @cached_property
    def _tools(self) -> list[Message]:
        return [
            {
                "name": each.name,
                "description": each.description,
                "inputSchema": each.schema,
                "annotations": {"readOnlyHint": each.name not in WRITES, "openWorldHint": False},
            }
            for each in tools(
                self._bundle(), self._limits, self._about, writes=self._writer is not None
            )
        ]

    def _list(self, params: Message) -> Message:
        if params.get("cursor") is not None:
            raise FaultError(WRONG_PARAMS, "'cursor' is unknown; all tools are in the first list")
        return {"tools": self._tools}

    def _call(self, params: Message) -> Message:
        name, given = params.get("name"), params.get("arguments")
        given = {} if given is None else given
        if not isinstance(name, str) or not isinstance(given, dict):
            raise FaultError(WRONG_PARAMS, "'name' must be a string, and 'arguments' an object")
        try:
            with panics_as_errors():
                if self._writer is not None and name in WRITES:
                    result = write(self._writer, name, given, self._limits)
                    self._wrote()
                else:
                    result = call(self._bundle(), name, given, self._limits)
        except Exception as error:
            status, body = failure(error)
            # The client learns no paths, but somebody must learn of a fault of this side.
            if status >= 500 and not isinstance(error, BusyError | RequestError):
                sys.stderr.write(f"{describe_stack(error)}\n")
            return {"content": [{"type": "text", "text": body["error"]}], "isError": True}
        content = [{"type": "text", "text": result.text}]
        return {"content": content, "structuredContent": result.values, "isError": False}


def _check_stateless(meta: Mapping[str, Any]) -> None:
    """Check what a request says of itself, if it names its revision.

    Raises:
        FaultError: it cannot be answered in that revision.
    """
    revision = meta[REVISION]
    if not isinstance(revision, str) or not isinstance(meta.get(ABILITIES), dict):
        raise FaultError(
            WRONG_PARAMS, f"'_meta' must have {REVISION!r}, a string, and {ABILITIES!r}, an object"
        )
    if revision not in STATELESS:
        raise _unsupported(revision, STATELESS)
