"""Turn an exception into a status and a JSON object, without a stack or a path."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ranklet.runtime.ground.errors import (
    BusyError,
    InputError,
    OutOfTimeError,
    RankletError,
    RemoteError,
    UnknownDocumentError,
    UnknownRankerError,
)

# HTTP status -> `error_type` in the JSON body, for programs to test.
ERROR_TYPES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many",
    500: "internal",
    503: "unavailable",
    504: "timeout",
}

_SERVERS = frozenset(each for status, each in ERROR_TYPES.items() if status >= 500)
BUSY = "another program writes to this bundle; nothing was written, so send the same again later"
_LONGEST = 2_000  # characters of a message


class RequestError(RankletError):
    """A request that is refused, with the HTTP status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class PanicError(RankletError):
    """A library was stopped by something that is not an Exception, as when code in Rust panics."""


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise PanicError in place of an error that no ``except Exception`` would catch.

    Then a bundle whose tokenizer panics is one that cannot be read, and a request that makes it
    panic is one that fails.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise PanicError(f"{type(error).__name__}: {error}") from error


def failure(error: BaseException) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON body for an error.

    The caller learns all about its own mistakes. Faults of the server are described in its log
    only, because their messages may name paths.

    >>> failure(InputError("k must be a whole number"))
    (422, {'error': 'k must be a whole number', 'error_type': 'invalid'})
    >>> failure(OSError("/srv/secret"))
    (500, {'error': "internal error; the server's log has it", 'error_type': 'internal'})
    """
    if isinstance(error, RequestError):
        return error.status, error_body(error.status, str(error))
    if isinstance(error, UnknownDocumentError | UnknownRankerError):
        return 404, error_body(404, str(error))
    if isinstance(error, RemoteError):  # its message names a host, so only the log has it
        return 503, error_body(503, "the store of the collection did not answer; try again later")
    if isinstance(error, BusyError):  # its message names a path
        return 503, error_body(503, BUSY)
    if isinstance(error, OutOfTimeError):
        return 504, error_body(504, str(error))
    if isinstance(error, InputError):
        return 422, error_body(422, str(error))
    return 500, error_body(500, "internal error; the server's log has it")


def shape_error(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of an error as the clients of a path read it.

    Those of OpenAI's paths show the message of an object, and of a text only the status.

    >>> shape_error("/v1/embeddings", {"error": "no text", "error_type": "bad"})["error"]["code"]
    'bad'
    """
    if not path.startswith("/v1/"):
        return body
    code = body["error_type"]
    kind = "server_error" if code in _SERVERS else "invalid_request_error"
    return {"error": {"message": body["error"], "type": kind, "param": None, "code": code}}


def error_body(status: int, message: str) -> dict[str, Any]:
    """Return the JSON object of an error, whose message is cut if it quotes very much."""
    message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    return {"error": message, "error_type": ERROR_TYPES.get(status, "error")}
