"""What the values of a JSON object must be, as data that one reader walks."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, NamedTuple

from ranklet.runtime.ground.errors import BundleError

_SHOWN = 80  # characters of a value or a name in a message

Read = Callable[[Any, str], Any]  # makes something of a JSON value, whose place is given


class Shape(NamedTuple):
    """What a value must be.

    Attributes:
        wanted: this in words.
        types: the types of Python that it may have.
        fits: whether such a value is allowed.
        make: makes something of it.
        optional: whether an empty one is left out.
    """

    wanted: str
    types: tuple[type, ...]
    fits: Callable[[Any], object] = lambda _: True
    make: Read = lambda value, _: value
    optional: bool = False

    def read(self, value: Any, where: str) -> Any:
        """Return what is made of a value; raise BundleError if it is something else."""
        if type(value) not in self.types or not self.fits(value):
            raise BundleError(f"{where} is {repr(value)[:_SHOWN]}; it must be {self.wanted}")
        return self.make(value, where)


Parts = Mapping[str, Shape]  # of a JSON object, in the order in which they are written

FLAG = Shape("true or false", (bool,))
NUMBER = Shape("a number", (int, float))
OBJECT = Shape("an object", (dict,))
TEXT = Shape("a string", (str,))
DIGEST = Shape("64 hexadecimal digits", (str,), re.compile(r"[0-9a-f]{64}").fullmatch)  # a sha256


def whole(most: int = 1 << 62) -> Shape:
    """Return the shape of a whole number from 0 to `most`."""
    return Shape(f"an integer, 0 to {most}", (int,), lambda value: 0 <= value <= most)


def one_of(allowed: Iterable[str]) -> Shape:
    """Return the shape of one of some texts."""
    allowed = tuple(allowed)
    return Shape(f"one of {', '.join(allowed)}", (str,), lambda value: value in allowed)


def several(wanted: str, item: Callable[[Any], object], least: int = 0) -> Shape:
    """Return the shape of a list, which is read as a tuple."""

    def fits(values: list[Any]) -> bool:
        return len(values) >= least and all(map(item, values))

    return Shape(f"a list of {wanted}", (list,), fits, lambda values, _: tuple(values))


def by_name(item: Read, check: Callable[[str], object] = str, most: int | None = None) -> Shape:
    """Return the shape of an object with at most so many values, which are read by `item`.

    Args:
        item: reads a value.
        check: raises BundleError if a name is not allowed.
        most: how many values there may be; None for any number.
    """

    def make(values: dict[str, Any], where: str) -> dict[str, Any]:
        for name in values:
            check(name)
        return {name: item(each, f"{where}.{name[:_SHOWN]}") for name, each in values.items()}

    bound = "" if most is None else f" with at most {most} fields"
    return Shape(f"an object{bound}", (dict,), lambda all_: most is None or len(all_) <= most, make)


def record(kind: Callable[..., Any], parts: Parts) -> Read:
    """Return what reads a JSON object with some parts as the arguments of a class."""
    return lambda raw, where: kind(**read_parts(parts, raw, f"{where}."))


def part(shape: Shape, default: Any = MISSING, *, optional: bool = False, **more: Any) -> Any:
    """Return a dataclass field for a value of a JSON object.

    Args:
        shape: what it must be.
        default: that of the field; a class stands for what it makes.
        optional: whether it is left out where it is empty.
        more: arguments of `dataclasses.field`.
    """
    usual = "default_factory" if isinstance(default, type) else "default"
    metadata = {"shape": shape._replace(optional=optional)}
    return field(**{usual: default}, metadata=metadata, **more)


def list_parts(kind: type) -> Parts:
    """Return the parts that the fields of a dataclass declare."""
    found = {each.name: each.metadata.get("shape") for each in fields(kind)}
    return {name: shape for name, shape in found.items() if shape is not None}


def read_parts(parts: Parts, raw: Any, where: str) -> dict[str, Any]:
    """Return the parts of a JSON object by name, without those that may be missing and are.

    Args:
        parts: its parts.
        raw: the object.
        where: what stands before a name in a message, such as ``manifest.json: ``.

    Raises:
        BundleError: it is no object, or a part is missing or is something else.
    """
    if not isinstance(raw, dict):
        raise BundleError(f"{where.rstrip('.: ')} must be a JSON object, not {type(raw).__name__}")
    values = {}
    for name, shape in parts.items():
        if name in raw:
            values[name] = shape.read(raw[name], where + name)
        elif not shape.optional:
            raise BundleError(f"{where}{name} is missing; it must be {shape.wanted}")
    return values


def to_plain(value: Any) -> dict[str, Any]:
    """Return the parts of an instance of a dataclass by name, without those that are left out."""
    parts = list_parts(type(value)).items()
    found = ((name, getattr(value, name), shape.optional) for name, shape in parts)
    return {name: each for name, each, optional in found if each or not optional}
