"""Read what the form of the search page asks for, as a request for POST /rank."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.field import FLAG, NUMBER, STRING, TEXTS, WHOLE, Field, Route
from ranklet.handlers.api.fields import list_fields
from ranklet.runtime.bundles import manifest

MOST = 1_000  # fields of a form
IS, FROM, TO = "is.", "from.", "to."  # before the name of a field of the metadata
OWN = (
    "q",
    "page",
    "why",
    "text",
    "texts",
    "more",
    "live",
    "details",
)  # those that are none of the request's
_FLAGS = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


class Form:
    """The fields of the search page's form, as an address or a body sends them.

    They are those of POST /rank, and these:

    - `q`: the query
    - `page`: which of the pages of k hits, from 1
    - `is.NAME`: what a field of the metadata is; several values are alternatives
    - `from.NAME`, `to.NAME`: the range of a field of the metadata
    - `why`, `text`: the number of a hit whose explanation, or whole text, is open
    - `texts`: own texts to rank, one per line
    - `more`: fields of the metadata of which more values are listed
    - `live`: the query is still being typed
    - `details`: show scores and explanations on a plain page

    Attributes:
        pairs: names and values that are not blank, in order.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple((name, value) for name, value in pairs if value.strip())

    @classmethod
    def read(cls, sent: str) -> Self:
        """Read a form from the query of an address, or from a body.

        Raises:
            RequestError: 413: it has more than `MOST` fields.
        """
        try:
            return cls(parse_qsl(sent, max_num_fields=MOST))
        except ValueError:
            raise RequestError(413, f"the form has more than {MOST:,} fields") from None

    def __getitem__(self, name: str) -> str:
        """Return the last value of a field, or ""."""
        return next((value for each, value in reversed(self.pairs) if each == name), "")

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for each, value in self.pairs if each == name]

    def number(self, name: str, default: int) -> int:
        """Return a field that is a whole number from 1.

        Raises:
            RequestError: 422: it is none.
        """
        value = self[name] or str(default)
        if not (value.isascii() and value.isdecimal() and len(value) <= 9 and int(value)):
            raise RequestError(422, f"{name!r} must be a whole number from 1, not {value[:40]!r}")
        return int(value)

    @property
    def is_filtered(self) -> bool:
        """Whether it has a filter by metadata."""
        return bool(self.filters)

    @property
    def filters(self) -> list[tuple[str, str]]:
        """The names and values that are filters by metadata."""
        return [pair for pair in self.pairs if _is_filter(pair[0])]

    def without(self, dropped: tuple[str, str]) -> "Form":
        """Return it without a name and value, and with no hit open."""
        return Form(pair for pair in self.pairs if pair != dropped).with_()

    def unfiltered(self) -> "Form":
        """Return it without all filters."""
        return Form(pair for pair in self.pairs if not _is_filter(pair[0]))

    def with_(self, **values: str) -> "Form":
        """Return it with other values of some fields, and with no hit open; "" leaves one out."""
        dropped = {"page", "why", "text", "live", *values}
        kept = [pair for pair in self.pairs if pair[0] not in dropped]
        return Form([*kept, *values.items()])

    @property
    def address(self) -> str:
        """The address of the page that it asks for."""
        return f"./?{urlencode(self.pairs)}"

    def request(self, types: Mapping[str, str]) -> dict[str, Any]:
        """Return the request for POST /rank, without offset.

        Args:
            types: of the metadata, by field.

        Raises:
            RequestError: 422: a field of the metadata is unknown, or a value is not of its type.
        """
        known, body = list_fields(Route.RANK), dict[str, Any]()
        for name, value in self.pairs:
            if name not in OWN and not _of_metadata(name):
                field = known.get(name)
                listed = field and field.type is TEXTS
                body[name] = self.all(name) if listed else _read(field, value)
        body["query"] = self["q"]
        if texts := self["texts"]:
            body["documents"] = [line for line in texts.splitlines() if line.strip()]
        if filters := self._filters(types):
            body["where"] = {"and": [body["where"], *filters]} if "where" in body else filters[0]
            if len(filters) > 1 and "and" not in body["where"]:
                body["where"] = {"and": filters}
        return body

    def _filters(self, types: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return one filter per field of the metadata."""
        names = dict.fromkeys(_of_metadata(name) for name, _ in self.pairs)
        return [{name: self._condition(name, types)} for name in names if name]

    def _condition(self, name: str, types: Mapping[str, str]) -> dict[str, Any]:
        if name not in types:
            raise RequestError(422, f"the metadata have no field {name[:80]!r}")
        condition: dict[str, Any] = {}
        for operator, prefix in ((">=", FROM), ("<=", TO)):
            if value := self[prefix + name]:
                condition[operator] = operand(value, types[name])
        if values := [operand(value, types[name]) for value in self.all(IS + name)]:
            condition["has any" if types[name] == manifest.LIST else "in"] = values
        return condition


def _of_metadata(name: str) -> str:
    """Return the field of the metadata that a field of the form is about, or ""."""
    prefix = next((each for each in (IS, FROM, TO) if name.startswith(each)), None)
    return name.removeprefix(prefix) if prefix else ""


def _is_filter(name: str) -> bool:
    return name == "where" or bool(_of_metadata(name))


def operand(value: str, type_: str) -> Any:
    """Return a value of a filter as its type has it, or the text, which is then refused."""
    if type_ == manifest.NUMBER:
        return _number(value)
    return _FLAGS.get(value, value) if type_ == manifest.FLAG else value


def _number(value: str) -> Any:
    """Return a number, or the text, which will be refused with the reason."""
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number


def _read(field: Field | None, value: str) -> Any:
    """Return the value of a request's field; what is none is refused when the request is read."""
    if field is None or field.type is STRING:
        return value
    if field.type is FLAG:
        return _FLAGS.get(value, value)
    if field.type in (WHOLE, NUMBER):
        return _number(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
