"""Frozen dataclasses that are defined in a fifth of the time.

`dataclass` writes and compiles six methods of each frozen class, at every start, in 0.3 ms. All but
`__init__` are alike, so classes share them here.
"""

from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """Return a class as a frozen dataclass without slots, which no dataclass inherits.

    An `__init__` of its own, or of a base, stays.

    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1, 0))
    (Point(x=1, y=0), True, True)
    """
    for name, method in _SHARED.items():
        if name not in vars(kind):
            setattr(kind, name, method)
    return dataclass(init=kind.__init__ is object.__init__, repr=False, eq=False)(kind)


def _set(self: Any, name: str, value: object) -> None:
    own = vars(self)
    if name in own or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    own[name] = value  # by `__init__`


def _delete(self: Any, name: str) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return all(
        getattr(self, each.name) == getattr(other, each.name)
        for each in fields(self)
        if each.compare
    )


def _hash(self: Any) -> int:
    counted = (each for each in fields(self) if (each.compare if each.hash is None else each.hash))
    return hash(tuple(getattr(self, each.name) for each in counted))


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


_SHARED = {
    "__setattr__": _set, "__delattr__": _delete, "__eq__": _equal, "__hash__": _hash,
    "__repr__": _repr,
}  # fmt: skip
