"""A field of requests: its name, its type, which requests may have it, and what it means."""

from enum import Flag, auto
from typing import Any, NamedTuple

import numpy as np

from ranklet.handlers.api.limits import Limits
from ranklet.runtime.ground.options import Option


class Route(Flag):
    """Where a request comes from."""

    RANK = auto()  # POST /rank
    EXPLAIN = auto()  # POST /explain, and the tool ``explain`` of assistants
    RERANK = auto()  # POST /rerank, /v1/rerank and /v2/rerank
    EMBEDDINGS = auto()  # POST /v1/embeddings, as OpenAI's
    EMBED = auto()  # POST /embed and /embed_sparse, as TEI's
    SEARCH = auto()  # the tool ``search`` of assistants
    FETCH = auto()  # the tool ``fetch`` of assistants
    ADD = auto()  # POST /documents
    DELETE = auto()  # POST /documents/delete
    REMEMBER = auto()  # the tool ``remember`` of assistants
    FORGET = auto()  # the tool ``forget`` of assistants
    COMPLETE = auto()  # GET and POST /complete
    CONTEXT = auto()  # POST /context


class Type(NamedTuple):
    """The type of a value: its name in JSON Schema, in a message, and in Python."""

    json: str
    wanted: str
    python: tuple[type, ...]


STRING = Type("string", "a string", (str,))
FLAG = Type("boolean", "true or false", (bool,))
WHOLE = Type("integer", "a whole number", (int,))
NUMBER = Type("number", "a number", (int, float))
OBJECT = Type("object", "an object", (dict,))
DOCUMENTS = Type("array", "a list of at least one document", (list,))
TEXTS = Type("", "a text, or a list of texts", (str, list))
RECORDS = Type("array", "a list of at least one object with an id and a text", (list,))
FACETS = Type("", "a list of fields, or an object of options by field", (list, dict))
VECTOR = Type("array", "a list of numbers", (list,))
CONDITIONS = Type("", "an object or conditions, such as 'year>=2020'", (dict, str, list))
ANYTHING = Type("", "anything", ())  # without effect
ABSENT = Type("", "absent", ())  # not supported; the help is the reason, the default is accepted


NAME = 1_000  # characters of a name
_TYPES = {
    int: WHOLE, float: NUMBER, bool: FLAG, str: STRING, object: STRING, dict: OBJECT, list: TEXTS,
    np.ndarray: VECTOR,
}  # fmt: skip


class Field(NamedTuple):
    """A field of requests.

    Attributes:
        name: as it is sent.
        type: of its value.
        routes: the requests that may have it.
        help: what it does, as the end of a sentence; for ABSENT the reason that it is refused.
        default: what counts if it is missing or null.
        least: the smallest number.
        most: the largest number, or the most characters or documents; the name of a limit.
        needed: whether it must be given.
        blank: whether a text may be empty, though it must be given.
        values: the only ones.
    """

    name: str
    type: Type
    routes: Route
    help: str
    default: Any = None
    least: float | None = None
    most: float | str | None = None
    needed: bool = False
    blank: bool = False
    values: tuple[str, ...] = ()

    @classmethod
    def option(cls, name: str, option: Option, default: object, routes: Route) -> "Field":
        """Return the field of an option of a search; see `Ask`."""
        type_ = {"again": FACETS, "all": CONDITIONS}.get(option.many, _TYPES[option.kind])
        most = option.limit or option.most
        if type_ is STRING and not option.allowed:
            most = NAME
        least = option.least if type_ in (WHOLE, NUMBER) else None
        return cls(name, type_, routes, option.about, default, least, most, values=option.allowed)

    @property
    def filled(self) -> bool:
        """Whether a list must have an entry, as in Python."""
        return self.needed or Route.RERANK in self.routes

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    def largest(self, limits: Limits) -> Any:
        """Return `most` as a number, None if there is none."""
        return getattr(limits, self.most) if isinstance(self.most, str) else self.most

    def otherwise(self, limits: Limits) -> Any:
        """Return the default, which no limit is below."""
        bounded = self.type is WHOLE and self.default is not None
        return min(self.default, self.largest(limits)) if bounded else self.default

    def schema(self, limits: Limits) -> dict[str, Any]:
        """Return the JSON Schema of a value that is not null."""
        if self.type is ANYTHING:
            return {"description": self.sentence}
        if self.type is TEXTS:
            many = {"type": "array", "minItems": int(self.filled)}
            many["maxItems"] = self.largest(limits)
            one = {"type": "string"}
            return {"anyOf": [one, {**many, "items": one}], "description": self.sentence}
        if self.type is CONDITIONS:
            one = {"type": "string"}
            forms = [{"type": "object"}, one, {"type": "array", "minItems": 1, "items": one}]
            return {"anyOf": forms, "description": self.sentence}
        if self.type is FACETS:
            return {**_facets(limits), "description": self.sentence}
        if self.type is ABSENT:
            also = [] if self.default is None else [self.default]
            return {"enum": [None, *also], "description": f"Not supported: {self.help}."}
        bounds = {"minimum": self.least, "maximum": self.largest(limits)}
        if self.type is STRING:
            bounds = {"maxLength": self.largest(limits), "enum": list(self.values) or None}
            bounds["pattern"] = r"\S" if self.needed and not self.blank else None
        elif self.type is DOCUMENTS:
            bounds = {"minItems": int(self.filled), "maxItems": self.largest(limits)}
            bounds["items"] = {"$ref": "#/components/schemas/Document"}
        elif self.type is VECTOR:
            bounds = {"minItems": 1, "items": {"type": "number"}}
        elif self.type is RECORDS:
            bounds = {"minItems": 1, "maxItems": self.largest(limits)}
            bounds["items"] = {"$ref": "#/components/schemas/Record"}
        more = {"default": self.otherwise(limits), "description": self.sentence}
        known = {key: value for key, value in (bounds | more).items() if value is not None}
        return {"type": self.type.json, **known}


def _facets(limits: Limits) -> dict[str, Any]:
    """Return the JSON Schema of facets."""
    most = limits.facet_values
    known = {
        "top": {"type": ["integer", "null"], "minimum": 1, "maximum": most},
        "ranges": {"type": ["array", "null"], "items": {}, "minItems": 1, "maxItems": most},
        "range": {"type": ["boolean", "null"]},
        "missing": {"type": ["boolean", "null"]},
    }
    options = {"type": ["object", "null"], "properties": known, "additionalProperties": False}
    names = {"type": "array", "items": {"type": "string"}, "maxItems": limits.facets}
    by_name = {"type": "object", "additionalProperties": options, "maxProperties": limits.facets}
    return {"anyOf": [names, by_name]}
