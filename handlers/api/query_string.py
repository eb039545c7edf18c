"""Read a request from the query string of a URL, for GET /rank."""

import json
from typing import Any
from urllib.parse import parse_qsl

from ranklet.handlers.api.errors import RequestError

FLAGS = ("syntax", "typos", "explain", "highlight", "return_documents")
WHOLE = ("k", "offset", "group_size")
NUMBERS = ("min_score",)
OBJECTS = ("where",)  # written as JSON
MOST_FIELDS = 50


def request_of(query_string: str) -> dict[str, Any]:
    """Return the fields of a query string as a JSON body would have them.

    A field that no request has is returned as text, so that the same check refuses it.

    >>> request_of("query=how+to+knead&k=3&explain=true")
    {'query': 'how to knead', 'k': 3, 'explain': True}

    Raises:
        RequestError: 400: it is not UTF-8 or has too many fields; 422: a field occurs twice, or is
            not of its type.
    """
    try:
        pairs = parse_qsl(
            query_string, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
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
    if name in FLAGS:
        if text not in ("true", "false"):
            raise RequestError(422, f"{name!r} must be true or false")
        return text == "true"
    try:
        if name in WHOLE:
            return int(text)
        if name in NUMBERS:
            return float(text)
        if name in OBJECTS:
            return json.loads(text)
    except (ValueError, RecursionError) as error:
        wanted = "JSON" if name in OBJECTS else "a number"
        raise RequestError(422, f"{name!r} must be {wanted}") from error
    return text
