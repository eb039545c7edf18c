"""Read and check the fields of a request by the table in `fields`.

A field that is null counts as absent. Half a character (a lone surrogate, which JSON can write as
an escape) is refused wherever it stands, because nothing that has one can be sent on. The character
0 is a character like any other.

The signs of a query may have a meaning, so what it can cost is bounded.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.field import (
    ABSENT,
    ANYTHING,
    CONDITIONS,
    DOCUMENTS,
    FACETS,
    NUMBER,
    RECORDS,
    STRING,
    TEXTS,
    WHOLE,
    Field,
    Route,
)
from ranklet.handlers.api.fields import list_fields
from ranklet.handlers.api.limits import Limits, characters
from ranklet.runtime.asks import MAX_PARTS, MAX_WORDS, is_blank, own_documents
from ranklet.runtime.ground.errors import suggest
from ranklet.runtime.ground.strict_json import unique
from ranklet.runtime.metadata.where import is_condition

if TYPE_CHECKING:
    from ranklet.runtime.syntax.query_syntax import Query

IN_BODY = "a POST has its fields in its body, not in its URL"
_SHOWN = 40  # characters of a name or value in a message


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises:
        RequestError: 400: the body is not UTF-8, not JSON, or not an object, or an object in it has
            a key twice.
    """
    try:
        body = loads(data.decode("utf-8-sig"))  # some programs on Windows begin with a BOM
    except UnicodeDecodeError as error:
        raise RequestError(400, "the body is not UTF-8") from error
    except (ValueError, RecursionError) as error:  # RecursionError: [[[[…
        raise RequestError(400, f"the body is not JSON: {str(error)[:100]}") from error
    if not isinstance(body, dict):
        raise RequestError(400, f"the body must be a JSON object, not {_json_type(body)}")
    return body


def in_url(route: Route, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a request that stand in its URL as a JSON object.

    Args:
        route: where the request comes from.
        pairs: the names and values; all but texts and typed conditions are JSON.

    Raises:
        RequestError: 400: a name stands twice, or a value is not JSON.
    """
    fields, body = list_fields(route), _unique(list(pairs))
    for name, text in pairs:
        typed = name in fields and fields[name].type is CONDITIONS and is_condition(text)
        if name in fields and fields[name].type is not STRING and not typed:
            try:
                body[name] = loads(text)
            except (ValueError, RecursionError):
                wanted = fields[name].type.wanted
                raise RequestError(400, f"{name!r} must be {wanted}, as JSON") from None
    return body


def check_coding(media: str, coding: str) -> None:
    """Raise RequestError (415) if headers say that a body is compressed, or is not UTF-8.

    Args:
        media: its ``Content-Type``, "" if there is none.
        coding: its ``Content-Encoding``.
    """
    parameters = media.lower().replace('"', "").partition(";")[2]
    charset = parameters.partition("charset=")[2].partition(";")[0].strip()
    if charset not in ("", "utf-8", "utf8"):
        raise RequestError(415, "the body must be JSON in UTF-8")
    if coding.lower() not in ("", "identity"):
        raise RequestError(415, "compressed bodies are not accepted; send plain JSON")


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
    try:
        return unique(pairs)
    except ValueError as error:
        raise RequestError(400, str(error)) from None


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


class Request:
    """The fields of a request, each of which is read and checked when it is asked for.

    Args:
        route: where the request comes from.
        body: the JSON object that was sent.
        limits: the largest values.

    Raises:
        RequestError: 400: a string has half a character; 422: a field is unknown or not supported.
    """

    def __init__(self, route: Route, body: Mapping[str, Any], limits: Limits) -> None:
        self._route, self._fields = route, list_fields(route)
        self._body, self._limits = body, limits
        for name, value in body.items():
            self._check_known(name, value)
        check_characters(body)
        self._values = _absent(route, limits).copy()
        for name in body:
            self._values.pop(name, None)

    def __getitem__(self, name: str) -> Any:
        """Return a value, or the default if the field is absent; see `read`."""
        if name not in self._values:
            self._values[name] = read(self._fields[name], self._body.get(name), self._limits)
        return self._values[name]

    def at_most(self, name: str, most: int, why: str) -> int:
        """Return a whole number that another field bounds, too, and so its default; see `read`.

        A message about a larger one says `why`.
        """
        value = self._body.get(name)
        try:
            bounded = self._fields[name]._replace(most=most)
            found = min(self[name], most) if value is None else read(bounded, value, self._limits)
        except RequestError as error:
            larger = isinstance(value, int | float) and value > most
            raise RequestError(error.status, f"{error}; {why}" if larger else str(error)) from None
        self._values[name] = found
        return int(found)

    def rest(self, *used: str) -> dict[str, Any]:
        """Check all fields; return the values of all but those that are used, by name.

        Raises:
            RequestError, InputError: see `read`.
        """
        values = {name: self[name] for name in _with_effect(self._route)}
        return {name: value for name, value in values.items() if name not in used}

    def _check_known(self, name: str, value: Any) -> None:
        field = self._fields.get(name)
        if field is None:
            allowed = [each.name for each in self._fields.values() if each.type is not ABSENT]
            meant = suggest(name, allowed)
            raise RequestError(
                422, f"unknown field {name[:_SHOWN]!r}{meant}; the fields are {', '.join(allowed)}"
            )
        if field.type is ABSENT and value is not None and value != field.default:
            raise RequestError(422, f"the field {name!r} is not supported: {field.help}")


@cache
def _with_effect(route: Route) -> tuple[str, ...]:
    """Return the fields of a route that change what is answered."""
    fields = list_fields(route).items()
    return tuple(name for name, each in fields if each.type not in (ABSENT, ANYTHING))


@lru_cache(16)  # a server has one set of limits
def _absent(route: Route, limits: Limits) -> dict[str, Any]:
    """Return what counts for the fields of a route that are not sent, unless they are needed."""
    fields = list_fields(route).items()
    return {name: each.otherwise(limits) for name, each in fields if not each.needed}


def read(field: Field, value: Any, limits: Limits) -> Any:
    """Return the value of a field, or its default for null.

    Documents become objects with `id`, `title` and `text`.

    Raises:
        RequestError: 422: it is missing, or of a wrong type or value; 413: it is too long.
        InputError: an entry of a list is no document; see `own_documents`.
    """
    name = field.name
    if value is None:
        if field.needed:
            raise RequestError(422, f"{name!r} is missing; it must be {field.type.wanted}")
        return field.otherwise(limits)
    most = field.largest(limits)
    if field.type is WHOLE and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON does not tell 5.0 from 5
    empty = value == [] and field.filled
    if type(value) not in field.type.python or empty:  # a boolean is no int here
        fraction = field.type is WHOLE and isinstance(value, float)
        found = "a fraction" if fraction else _json_type(value)
        raise RequestError(422, f"{name!r} must be {field.type.wanted}, not {found}")
    if field.type is STRING:
        _check_string(field, value, most)
    elif field.type is TEXTS:
        return _texts(name, [value] if isinstance(value, str) else value, most, limits.characters)
    elif field.type is RECORDS:
        return _records(name, value, most, limits.characters)
    elif field.type is DOCUMENTS:
        return _documents(name, value, most, limits.characters)
    elif field.type is FACETS:
        _check_facets(name, value, most, limits.facet_values)
    elif field.least is not None and most is not None and not field.least <= value <= most:
        # Python refuses to print an integer of several thousand digits.
        shown = f", not {value}" if abs(value) < 1 << 63 else ""
        raise RequestError(
            422, f"{name!r} must be from {_bound(field.least)} to {_bound(most)}{shown}"
        )
    return float(value) if field.type is NUMBER else value


def _bound(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def _check_string(field: Field, value: str, most: int | None) -> None:
    if most is not None and (length := characters(value)) > most:
        raise RequestError(
            413, f"{field.name!r} has {length:,} characters; at most {most:,} are allowed"
        )
    if field.needed and not field.blank and not value.strip():
        raise RequestError(422, f"{field.name!r} is empty; give at least one word")
    if field.values and value not in field.values:
        raise RequestError(
            422,
            f"{field.name!r} is {value[:_SHOWN]!r}; it must be "
            f"{' or '.join(map(repr, field.values))}: {field.help}",
        )


def _check_facets(name: str, value: list[Any] | dict[str, Any], most: int, values: int) -> None:
    """Raise RequestError if more is counted than one request may cost."""
    _check_count(f"{name!r} names", len(value), "fields", most)
    for field, options in value.items() if isinstance(value, dict) else ():
        given = options if isinstance(options, dict) else {}
        top, ranges = given.get("top"), given.get("ranges")
        count = top if type(top) is int else len(ranges) if isinstance(ranges, list) else 0
        _check_count(f"{name!r}: {field[:_SHOWN]!r} has", count, "values", values)


def _check_count(what: str, count: int, unit: str, most: int) -> None:
    """Raise RequestError (422) if there are more than are allowed."""
    if count > most:
        shown = f"{count:,}" if count < 1 << 63 else "too many"
        raise RequestError(422, f"{what} {shown} {unit}; at most {most:,} are allowed")


def _texts(name: str, entries: list[Any], most: int, together: int) -> list[str]:
    if len(entries) > most:
        raise RequestError(413, f"{name!r} has {len(entries):,} texts; at most {most:,}")
    for at, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise RequestError(422, f"'{name}[{at}]' must be a string, not {_json_type(entry)}")
    _check_total(name, entries, together)
    return entries


def _documents(name: str, entries: list[Any], most: int, together: int) -> list[dict[str, str]]:
    if len(entries) > most:
        raise RequestError(413, f"{name!r} has {len(entries):,} documents; at most {most:,}")
    documents = own_documents(entries, name)
    _check_total(name, [part for _, *parts in documents for part in parts], together)
    return [{"id": key, "title": title, "text": text} for key, title, text in documents]


def _records(name: str, entries: list[Any], most: int, together: int) -> list[dict[str, Any]]:
    if len(entries) > most:
        raise RequestError(413, f"{name!r} has {len(entries):,} documents; at most {most:,}")
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict) or "id" not in entry:
            raise RequestError(422, f"'{name}[{at}]' must be an object with an id and a text")
    strings = (value for entry in entries for value in entry.values() if isinstance(value, str))
    _check_total(name, list(strings), together)
    return entries


def _check_total(name: str, texts: list[str], most: int) -> None:
    total = sum(map(characters, texts))
    if total > most:
        raise RequestError(413, f"{name!r} has {total:,} characters; at most {most:,}")


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


def typed(request: Request) -> "str | Query":
    """Return the `query` of a request, read as its flags `syntax` and `typos` say.

    Raises:
        RequestError: 413: the query has more parts or words than are looked up in a collection.
        InputError: the query cannot be read with `syntax`; see `Query.parse`.
    """
    text: str = request["query"]
    if not (request["syntax"] or request["typos"]) or is_blank(text):
        return text
    from ranklet.runtime.syntax.query_syntax import (  # no cost of plain queries
        Query,
        read_typed_query,
    )

    query = read_typed_query(text, syntax=request["syntax"], typos=request["typos"])
    if isinstance(query, Query):
        if query.parts > MAX_PARTS:
            raise RequestError(
                413,
                f"the query has {query.parts:,} phrases, excluded words and prefixes; at most "
                f"{MAX_PARTS} are allowed",
            )
        corrected = (query.text, *query.excluded, *query.excluded_phrases)
        # An underscore divides words, and so do some signs that are made of several letters.
        words = len(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", " ".join(corrected))))
        if query.typos and words > MAX_WORDS:
            raise RequestError(
                413,
                f"the query has {words:,} words; at most {MAX_WORDS} are corrected, so shorten it "
                "or leave 'typos' out",
            )
    return query
