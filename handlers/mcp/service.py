"""The server: requests on standard input, answers on standard output, faults on standard error.

It is made of the low-level server of the package ``mcp``, because its larger one reads arguments
and writes error messages of its own.
"""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ranklet.handlers.api.errors import RequestError, failure, panics_as_errors
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import check_characters, loads
from ranklet.handlers.logs import stack_of
from ranklet.handlers.mcp.tools import Result, call, tools
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.version import __version__

if TYPE_CHECKING:
    from mcp_types import JSONRPCError

_NO_JSON, _NO_REQUEST = -32700, -32600  # codes of JSON-RPC


def serve(bundle: Bundle, limits: Limits, about: str = "") -> None:
    """Answer a client until it closes standard input.

    Args:
        bundle: a bundle with a collection.
        limits: the largest arguments of a call.
        about: what the documents are, for the tools' descriptions.

    Raises:
        InputError: the bundle has no collection.
        ModuleNotFoundError: the package ``mcp`` is not installed.
    """
    if not len(bundle):
        raise InputError(f"{bundle.path} has no collection to search; add one with `ranklet index`")
    with no_garbage_collected():
        import anyio
        import mcp.server.lowlevel
        import mcp.server.stdio  # noqa: F401

    try:
        anyio.run(_serve, bundle, limits, about)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone, so nobody waits for an answer


@contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Pause garbage collection: importing `mcp` is then 20 % faster."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


async def _serve(bundle: Bundle, limits: Limits, about: str) -> None:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

    listed = [
        Tool(
            name=each.name,
            description=each.description,
            input_schema=each.schema,
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for each in tools(bundle, limits, about)
    ]

    async def list_tools(context: Any, params: Any) -> ListToolsResult:  # noqa: ARG001
        return ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: Any) -> CallToolResult:  # noqa: ARG001
        given = params.arguments or {}
        try:
            result = await asyncio.to_thread(_called, bundle, params.name, given, limits)
        except Exception as error:
            status, body = failure(error)
            if status >= 500:  # the client learns no paths, but somebody must learn of the fault
                sys.stderr.write(f"{stack_of(error)}\n")
            text = TextContent(type="text", text=body["error"])
            return CallToolResult(content=[text], is_error=True)
        content = [TextContent(type="text", text=result.text)]
        return CallToolResult(content=content, structured_content=result.values)

    server: Any = Server(
        "ranklet", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )
    lines: Any = Lines()
    async with stdio_server(lines) as (requests, answers):
        lines.answer_by(answers)
        await server.run(requests, answers, server.create_initialization_options())


def _called(bundle: Bundle, name: str, given: Mapping[str, Any], limits: Limits) -> Result:
    with panics_as_errors():
        return call(bundle, name, given, limits)


class Lines:
    """The lines of standard input that hold messages; any other line is answered at once.

    The package ``mcp`` answers nothing that it cannot read, and its client waits.
    """

    def __init__(self) -> None:
        import anyio

        self._ready = anyio.Event()
        self._answers: Any = None

    def answer_by(self, answers: Any) -> None:
        """Begin to read, and send errors to a stream of messages."""
        self._answers = answers
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines that can be read."""
        import anyio
        from mcp.shared.message import SessionMessage

        await self._ready.wait()
        async for line in anyio.wrap_file(sys.stdin.buffer):
            error = None if line.isspace() else fault(line)
            if error is not None:
                await self._answers.send(SessionMessage(error))
            else:
                yield line.decode("utf-8", "replace")


def fault(line: bytes) -> "JSONRPCError | None":
    """Return the answer to a line that cannot be a message; None if it can be one.

    Nobody waits for an answer to a notification, so it gets none either.
    """
    from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

    message: Any = None
    try:
        message = json.loads(line.decode("utf-8", "replace"))
        check_characters(loads(line.decode()))
    except RequestError as error:
        code, reason = _NO_REQUEST, str(error)
    except UnicodeDecodeError:
        code, reason = _NO_JSON, "the message is not UTF-8"
    except (ValueError, RecursionError) as error:
        code, reason = _NO_JSON, f"the message is not JSON: {str(error)[:100]}"
    else:
        try:
            jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValueError:
            code, reason = _NO_REQUEST, "this is no message of JSON-RPC 2.0"
        else:
            return None
    known = message if isinstance(message, dict) else {}
    if "method" in known and "id" not in known:
        return None
    identity = known.get("id")
    if type(identity) is not int and not (isinstance(identity, str) and identity.isprintable()):
        identity = None
    return JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=reason))
