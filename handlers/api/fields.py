"""Read and check the fields of a request's JSON object.

A field that is null counts as absent. `allowed` says which fields there are. Half a character (a
lone surrogate, which JSON can write as an escape) is refused wherever it stands, because nothing
that has one can be sent on. The character 0 is a character like any other.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from ranklet.handlers.api.errors import RequestError
from ranklet.runtime.arguments import own_documents

T = TypeVar("T")

_LARGEST = 1e38  # of scores, which have 32 bits


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises:
        RequestError: 400: the body is not UTF-8, not JSON, or not an object, or an object in it has
            a key twice.
    """
    try:
        body = loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error
    except (ValueError, RecursionError) as error:  # RecursionError: [[[[…
        raise RequestError(400, f"the body is not JSON: {str(error)[:100]}") from error
    if not isinstance(body, dict):
        raise RequestError(400, f"the body must be a JSON object, not {_json_type(body)}")
    return body


def loads(text: str) -> Any:
    """Return the value of strict JSON: no NaN, and no key that stands twice in an object.

    Raises:
        ValueError, RecursionError: it is not JSON.
        RequestError: 400: a key stands twice.
    """
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in content if names.count(name) > 1)
        raise RequestError(400, f"the key {twice[:40]!r} stands twice in an object; give it once")
    return content


def check_characters(value: Any) -> None:
    """Raise RequestError (400) if a string of a JSON value, or a key, has half a character.

    >>> check_characters({"documents": ["dough", {"text": "bread"}]})
    """
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            try:
                each.encode()
            except UnicodeEncodeError as error:
                half = f"U+{ord(each[error.start]):04X}"
                raise RequestError(
                    400,
                    f"a string has half a character ({half}, a surrogate without its other half); "
                    "send whole characters",
                ) from error
        elif isinstance(each, Mapping):
            waiting += each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


class Fields:
    """The fields of a request. Each method raises RequestError for a value that cannot be used.

    Raises:
        RequestError: 400: a string has half a character.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        check_characters(body)
        self._body = body

    def has(self, name: str) -> bool:
        """Return whether a field is present and not null."""
        return self._body.get(name) is not None

    def text(self, name: str, longest: int) -> str:
        """Return a required string that has at least one word and at most `longest` characters."""
        text = self.optional_text(name, longest)
        if text is None:
            raise RequestError(422, f"{name!r} is missing; it must be a string")
        if not text.strip():
            raise RequestError(422, f"{name!r} is empty; give at least one word")
        return text

    def optional_text(self, name: str, longest: int = 1_000) -> str | None:
        """Return a string of at most `longest` characters, or None if it is absent."""
        text = self._typed(name, str, "a string")
        if text is not None and len(text) > longest:
            raise RequestError(
                413, f"{name!r} has {len(text):,} characters; at most {longest:,} are allowed"
            )
        return text

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean."""
        value = self._typed(name, bool, "true or false")
        return default if value is None else value

    def score(self, name: str) -> float | None:
        """Return a number of any size, or None if it is absent."""
        value = self._body.get(name)
        number = self._typed(
            name, type(value) if type(value) in (int, float) else float, "a number"
        )
        if number is not None and not -_LARGEST <= number <= _LARGEST:
            raise RequestError(422, f"{name!r} must be from -{_LARGEST:g} to {_LARGEST:g}")
        return None if number is None else float(number)

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return an object, or None if it is absent."""
        return self._typed(name, dict, "an object")

    def number(self, name: str, default: int, smallest: int, largest: int) -> int:
        """Return a whole number from `smallest` to `largest`."""
        value = self._typed(name, int, "a whole number")
        if value is None:
            return default
        if not smallest <= value <= largest:
            # Python refuses to print an integer of several thousand digits.
            shown = f", not {value}" if abs(value) < 1 << 63 else ""
            raise RequestError(422, f"{name!r} must be from {smallest} to {largest:,}{shown}")
        return value

    def _typed(self, name: str, kind: type[T], wanted: str) -> T | None:
        """Return a field of a type, or None if it is absent."""
        value = self._body.get(name)
        if kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON does not tell 5.0 from 5
        if value is None or type(value) is kind:  # a boolean is no int here
            return value
        found = "a fraction" if kind is int and isinstance(value, float) else _json_type(value)
        raise RequestError(422, f"{name!r} must be {wanted}, not {found}")

    def texts(self, name: str, most: int, characters: int) -> list[dict[str, str]]:
        """Return a list of documents, each as an object with `id`, `title` and `text`.

        Raises:
            InputError: an entry is no document; see `own_documents`.
            RequestError: 422: the list is empty; 413: there are too many documents, or they are too
                long.
        """
        entries = self._body.get(name)
        if not isinstance(entries, list) or not entries:
            raise RequestError(
                422, f"{name!r} must be a list of at least one document, not {_json_type(entries)}"
            )
        if len(entries) > most:
            raise RequestError(413, f"{name!r} has {len(entries):,} documents; at most {most:,}")
        documents = own_documents(entries, name)
        total = sum(len(title) + len(text) for _, title, text in documents)
        if total > characters:
            raise RequestError(413, f"{name!r} has {total:,} characters; at most {characters:,}")
        return [{"id": key, "title": title, "text": text} for key, title, text in documents]


def _json_type(value: Any) -> str:
    """Return the JSON type of a value for a message, never the value, which may be long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if value == []:
        return "an empty list"
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return names[type(value)]
