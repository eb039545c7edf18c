"""JSON Schemas of answers, made of their classes: names, types and docstrings."""

import re
from typing import Any

from ranklet.runtime.ground.options import read_attributes

Schema = dict[str, Any]

_TYPES: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
}
_LIST = re.compile(r"(?:tuple|list|Sequence)\[(.+?)(?:, \.\.\.)?\]")
_MAPPING = re.compile(r"(?:dict|Mapping)\[str, (.+)\]")
_CLASSES = ("Hit", "ContextSpan", "Explanation", "Count")  # that are schemas of their own


def schema_of(kind: Any, *more: str) -> Schema:
    """Return the schema of a class's form in JSON; see `ranklet.runtime.answers.plain.Shown`.

    A tuple with names has all of its fields.

    Args:
        kind: the class.
        more: further attributes, which may be left out.
    """
    always = getattr(kind, "ALWAYS", None) or kind._fields
    told = read_attributes(kind)
    properties = {
        name: _of_attribute(kind, name, told.get(name, ""), "null" if name in always else "absent")
        for name in (*always, *getattr(kind, "PERHAPS", ()), *more)
    }
    return {"type": "object", "required": list(always), "properties": properties}


def _of_attribute(kind: Any, name: str, told: str, nothing: str) -> Schema:
    """Return the schema of a field, or of a property, with what its docstring says.

    What is None in Python is called `nothing` here.
    """
    own = getattr(kind, name, None)
    if isinstance(own, property) and own.fget is not None:
        annotation, told = own.fget.__annotations__["return"], own.__doc__ or ""
    else:
        annotation = kind.__annotations__[name]
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    about = " ".join(told.split()).replace("None", nothing)
    described = {"description": f"{about[:1].upper()}{about[1:]}"} if about else {}
    return {**_of_type(re.sub(r"['\"]|[\w.]+\.(?=\w)", "", text)), **described}


def _of_type(text: str) -> Schema:
    """Return the schema of a type as the code has it; what is not None may be left out instead.

    >>> _of_type("Mapping[str, tuple[int, ...]]")["additionalProperties"]
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    text = text.removesuffix(" | None")
    if listed := _LIST.fullmatch(text):
        return {"type": "array", "items": _of_type(listed[1])}
    if mapped := _MAPPING.fullmatch(text):
        return {"type": "object", "additionalProperties": _of_type(mapped[1])}
    if text in _CLASSES:
        return {"$ref": f"#/components/schemas/{text}"}
    return dict(_TYPES.get(text, {}))
