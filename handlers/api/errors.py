"""From an exception to what a caller is told: a status and a JSON object, no stack, no path."""

from http import HTTPStatus
from typing import Any

from ranklet.runtime.errors import (
    InputError,
    RankletError,
    UnknownDocumentError,
    UnknownRankerError,
)

# Statuses that people and proxies act on, by the short name that programs can test for.
KINDS = {
    400: "malformed",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    500: "internal",
    503: "unavailable",
    504: "timeout",
}


class RequestError(RankletError):
    """A request that is not answered, and the HTTP status that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def failure(error: BaseException) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON body for an error.

    What the caller did wrong is told in full. What is wrong with the server is for its log: a
    bundle's fault names paths, and a stack names more.

    >>> failure(InputError("k must be a whole number"))
    (422, {'error': 'k must be a whole number', 'error_type': 'invalid'})
    >>> failure(OSError("/srv/secret"))
    (500, {'error': "internal error; the server's log has it", 'error_type': 'internal'})
    """
    if isinstance(error, RequestError):
        return error.status, described(error.status, str(error))
    if isinstance(error, UnknownDocumentError | UnknownRankerError):
        return 404, described(404, str(error))
    if isinstance(error, InputError):
        return 422, described(422, str(error))
    return 500, described(500, "internal error; the server's log has it")


def described(status: int, message: str) -> dict[str, Any]:
    """Return the JSON object that every error has."""
    kind = KINDS.get(status) or HTTPStatus(status).phrase.lower().replace(" ", "_")
    return {"error": message, "error_type": kind}
