"""A request's JSON, read field by field: null is as good as absent, unknown fields are ignored."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from ranklet.handlers.api.errors import RequestError


def parse(data: bytes) -> dict[str, Any]:
    """Return the object that a body holds.

    Raises:
        RequestError: 400: it is not UTF-8, not JSON, or not an object.
    """
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error
    except (ValueError, RecursionError) as error:  # RecursionError: [[[[…
        raise RequestError(400, f"the body is not JSON: {str(error)[:100]}") from error
    if not isinstance(found, dict):
        raise RequestError(400, f"the body must be a JSON object, not {_kind(found)}")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class Fields:
    """The fields of one request.

    Args:
        body: the JSON object.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body

    def has(self, name: str) -> bool:
        """Return True if and only if a field is there and not null."""
        return self._body.get(name) is not None

    def text(self, name: str, longest: int) -> str:
        """Return a field that must be there and hold a word; RequestError says what is wrong."""
        found = self.optional_text(name, longest)
        if found is None:
            raise RequestError(422, f"{name!r} is missing; it must be a string")
        if not found.strip():
            raise RequestError(422, f"{name!r} is empty; give at least one word")
        return found

    def optional_text(self, name: str, longest: int = 1_000) -> str | None:
        """Return a string, None where it is absent."""
        found = self._body.get(name)
        if found is None:
            return None
        if not isinstance(found, str):
            raise RequestError(422, f"{name!r} must be a string, not {_kind(found)}")
        if len(found) > longest:
            raise RequestError(
                413, f"{name!r} has {len(found):,} characters; at most {longest:,} are allowed"
            )
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        """Return true or false."""
        found = self._body.get(name)
        if found is None:
            return default
        if not isinstance(found, bool):
            raise RequestError(422, f"{name!r} must be true or false, not {_kind(found)}")
        return found

    def number(self, name: str, default: int, smallest: int, largest: int) -> int:
        """Return a whole number within bounds."""
        found = self._body.get(name)
        if found is None:
            return default
        if isinstance(found, float) and found.is_integer():  # to JSON, 5.0 is a whole number
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool):
            raise RequestError(422, f"{name!r} must be a whole number, not {_kind(found)}")
        if not smallest <= found <= largest:
            # Some numbers are too long to print.
            shown = f", not {found}" if abs(found) < 1 << 63 else ""
            raise RequestError(422, f"{name!r} must be from {smallest} to {largest:,}{shown}")
        return found

    def texts(self, name: str, most: int, characters: int) -> list[dict[str, Any]]:
        """Return a list of documents, each an object with its text.

        Each may be a string, or an object with a `text` and perhaps an `id` and a `title`.

        Raises:
            RequestError: 422: one is neither, or there is none; 413: too many or too long.
        """
        found = self._body.get(name)
        if not isinstance(found, list) or not found:
            raise RequestError(
                422, f"{name!r} must be a list of at least one document, not {_kind(found)}"
            )
        if len(found) > most:
            raise RequestError(413, f"{name!r} has {len(found):,} documents; at most {most:,}")
        read = [_document(each, f"{name}[{at}]") for at, each in enumerate(found)]
        total = sum(len(each["text"]) + len(each.get("title", "")) for each in read)
        if total > characters:
            raise RequestError(413, f"{name!r} has {total:,} characters; at most {characters:,}")
        return read


def _document(given: Any, where: str) -> dict[str, Any]:
    if isinstance(given, str):
        return {"text": given}
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise RequestError(
            422, f"{where} must be a string, or an object with a string 'text', not {_kind(given)}"
        )
    read = {"text": given["text"]}
    for key in ("id", "title"):
        if (value := given.get(key)) is not None:
            if not isinstance(value, str):
                raise RequestError(422, f"{where}: {key!r} must be a string, not {_kind(value)}")
            read[key] = value
    return read


def _kind(value: Any) -> str:
    """Return what JSON calls a value; never the value itself, which may be long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return ("an empty list" if value == [] else None) or names[type(value)]
