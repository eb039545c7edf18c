"""Read a request from the query string of a URL, for GET /rank."""

import re
from typing import Any
from urllib.parse import parse_qsl

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.fields import (
    DOCUMENTS,
    FLAG,
    NUMBER,
    OBJECT,
    STRING,
    WHOLE,
    Route,
    fields_of,
)
from ranklet.handlers.api.reading import loads

MOST_FIELDS = 50
# JSON's numbers. Python would also read 1_0, blanks around a number, and digits of other scripts.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def request_of(query_string: bytes) -> dict[str, Any]:
    """Return the fields of a query string as a JSON body would have them.

    A field that no request has is returned as text, so that the same check refuses it.

    >>> request_of(b"query=how+to+knead&k=3&explain=true")
    {'query': 'how to knead', 'k': 3, 'explain': True}

    Raises:
        RequestError: 400: it is not UTF-8 or has too many fields; 422: a field occurs twice, or is
            not of its type.
    """
    try:
        pairs = parse_qsl(
            query_string.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except UnicodeDecodeError as error:
        raise RequestError(400, "the query string is not UTF-8") from error
    except ValueError as error:
        raise RequestError(
            400, f"the query string has more than {MOST_FIELDS} fields; send a POST instead"
        ) from error
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name in found:
            raise RequestError(422, f"{name[:40]!r} occurs twice in the query string")
        found[name] = _value(name, text)
    return found


def _value(name: str, text: str) -> Any:
    field = fields_of(Route.RANK).get(name)
    kind = STRING if field is None else field.type
    if kind is DOCUMENTS:
        raise RequestError(422, f"{name!r} has no place in a URL; send a POST instead")
    if kind not in (FLAG, WHOLE, NUMBER, OBJECT):
        return text
    if kind is FLAG:
        if text not in ("true", "false"):
            raise RequestError(422, f"{name!r} must be true or false")
        return text == "true"
    wanted = "JSON" if kind is OBJECT else "a number as JSON writes it: 10, -0.5, 1e3"
    try:
        if kind is OBJECT or _NUMBER.fullmatch(text):
            return loads(text)
    except (ValueError, RecursionError):  # such as thousands of digits
        pass
    raise RequestError(422, f"{name!r} must be {wanted}")
