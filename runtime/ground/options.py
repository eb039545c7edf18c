"""Options as data, which are dataclass fields with a help text, a range and allowed values.

A dataclass of options is `Checked`, and `list_options` yields its options for a command line, whose
help shows them under the class attribute GROUP. A subclass may change a field's default and
inherits the rest.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from inspect import cleandoc
from math import inf
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ranklet.runtime.ground.errors import InputError

DEVICES = ("auto", "cpu", "cuda")  # where models run
LAST_PORT = 65_535  # of an address of the internet
MOST_TEXT = 4096  # characters of a prompt or a list of tokens
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
_KEY = "option"  # in a field's metadata
# Of options by name: another option, and values of it beside which the option has no effect. A
# class names them in its attribute IDLE, and nobody can give both.
Idle = Mapping[str, tuple[object, ...]]


class Option(NamedTuple):
    """The declaration of an option.

    Attributes:
        about: the help text, one line.
        kind: int, float, bool, str, Path, dict for an object of JSON, list for texts, or object if
            `read` makes the value, or if it is a text that only Python gives in other forms.
        least: smallest number.
        most: largest number, length of a text without `allowed`, or number of texts; None for no
            limit.
        allowed: allowed texts; empty for any.
        untyped: one more text, which only Python may give; empty for none.
        optional: whether it may be None.
        flag: the name on the command line; empty for the field's name; None to hide it.
        read: makes the value from the typed text, such as a path.
        recorded: whether it affects the result, unlike paths and whether to resume.
        instead_of: the option that it replaces; a command line cannot have both.
        many: "again" if a command line may give it several times, "all" if these are conditions
            that must all hold, or "+" if several values may follow it; `read` gets all texts in a
            list.
        metavar: what a command line calls a value; empty for the name of the kind.
        example: a value, as Python writes it.
        limit: the limit of a server that bounds it; see `handlers.api.limits`.
        fronts: where it can be asked for besides Python; None for everywhere.
        unfit: why it cannot be used, by what is ranked.
    """

    about: str
    kind: type
    least: float = 0
    most: float | None = None
    allowed: tuple[str, ...] = ()
    untyped: str = ""
    optional: bool = False
    flag: str | None = ""
    read: Callable[[Any], Any] | None = None
    recorded: bool = True
    instead_of: str = ""
    many: str = ""
    metavar: str = ""
    example: str = ""
    limit: str = ""
    fronts: tuple[str, ...] | None = None
    unfit: Mapping[str, str] = MappingProxyType({})

    def name_flag(self, name: str, default: object) -> str:
        """Return its name on a command line; that of a switch which is on turns it off."""
        turns = "no-" if self.kind is bool and default else ""
        return self.flag or f"--{turns}{name.replace('_', '-')}"

    def check(self, name: str, value: object) -> None:
        """Raise InputError with the allowed values unless `value` is one of them."""
        if value is None and self.optional:
            return
        if self.kind is int:
            check_integer(name, value, self.least, self.most)
        elif self.kind is float:
            check_number(name, value, self.least, self.most)
        elif self.allowed and (not self.untyped or value != self.untyped):
            check_one_of(name, value, self.allowed)
        elif self.kind is bool and type(value) is not bool:
            raise InputError(f"{name} is {value!r}; it must be True or False")
        elif self.kind is str and not isinstance(value, str):
            raise InputError(f"{name} is {value!r:.60}; it must be a string ({self.about})")
        elif self.kind is Path and not isinstance(value, str | os.PathLike):
            raise InputError(f"{name} is {value!r:.60}; it must be a path ({self.about})")
        elif self.most is not None and isinstance(value, str) and len(value) > self.most:
            raise InputError(f"{name} must be a text of at most {self.most:,} characters")


class Checked:
    """A base of dataclasses whose instances check that every option has an allowed value."""

    def __post_init__(self) -> None:
        """Raise InputError with the allowed values of an option that has another."""
        for each in fields(self):  # type: ignore[arg-type]
            if is_dataclass(usual := getattr(type(self), each.name, None)):
                check_type(each.name, getattr(self, each.name), type(usual))
        for path, _, value, option in list_options(self):
            if len(path) == 1:  # enclosed instances have checked themselves
                option.check(path[0], value)


class Declared(NamedTuple):
    """An option of a dataclass instance."""

    path: tuple[str, ...]  # the names of the enclosing fields and of the field
    group: type  # the dataclass that declares it
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.option.name_flag(self.path[-1], self.default)


def integer(
    default: int | None,
    about: str,
    least: int,
    most: int | None = None,
    *,
    flag: str | None = "",
    instead_of: str = "",
) -> Any:
    """Return a field for a whole number."""
    optional = default is None
    option = Option(about, int, least, most, optional=optional, flag=flag, instead_of=instead_of)
    return _field(default, option)


def number(
    default: float | None,
    about: str,
    least: float,
    most: float | None = None,
    *,
    flag: str | None = "",
) -> Any:
    """Return a field for a number."""
    return _field(default, Option(about, float, least, most, optional=default is None, flag=flag))


def one_of(
    default: str | None,
    allowed: Sequence[str],
    about: str,
    *,
    flag: str | None = "",
    untyped: str = "",
) -> Any:
    """Return a field for one of some texts, and for `untyped`, which no command line offers."""
    option = Option(about, str, allowed=tuple(allowed), flag=flag, untyped=untyped)
    return _field(default, option._replace(optional=default is None))


def text(default: str | None, about: str, most: int | None = None, *, flag: str = "") -> Any:
    """Return a field for any text, or any of at most some characters."""
    return _field(default, Option(about, str, most=most, optional=default is None, flag=flag))


def switch(default: bool, about: str, *, flag: str = "", recorded: bool = True) -> Any:
    """Return a field for yes or no, whose flag on the command line inverts the default."""
    return _field(default, Option(about, bool, flag=flag, recorded=recorded))


def place(about: str, *, flag: str | None = "") -> Any:
    """Return a field for a file or a folder, with the default None."""
    return _field(None, Option(about, Path, optional=True, flag=flag, recorded=False))


def read_from(default: object, about: str, read: Callable[[str], Any]) -> Any:
    """Return a field for a value that the command line reads from a path."""
    return _field(default, Option(about, object, read=read))


def read_each(
    default: object, about: str, read: Callable[[Sequence[str]], Any], *, flag: str,
    many: str = "again",
) -> Any:  # fmt: skip
    """Return a field for a value that the command line reads from several texts."""
    return _field(default, Option(about, object, flag=flag, read=read, many=many))


def declare(default: object, about: str, kind: type, **more: Any) -> Any:
    """Return a field for an option of any kind, with more attributes of `Option`."""
    if kind is bool:
        more["example"] = str(not default)
    return _field(default, Option(about, kind, optional=default is None, **more))


def read_attributes(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says of its attributes, by name."""
    text = cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")[2]
    return {name: " ".join(told.split()) for name, told in _ATTRIBUTE.findall(text)}


def read_names(typed: str) -> tuple[str, ...]:
    """Return names that are separated by commas, and perhaps spaces.

    >>> read_names("fp32, int8")
    ('fp32', 'int8')
    """
    return tuple(each.strip() for each in typed.split(","))


def list_options(options: Any, *outer: str) -> Iterator[Declared]:
    """Yield every option of a dataclass instance and of dataclass instances in its fields."""
    for each in fields(options):
        if each.name in getattr(options, "WITHOUT", ()):
            continue
        value, path = getattr(options, each.name), (*outer, each.name)
        option, group = _declaration(type(options), each.name)
        if option is not None:
            yield Declared(path, group, value, option)
        elif is_dataclass(value):
            yield from list_options(value, *path)


def declared(kind: type) -> dict[str, Option]:
    """Return the options of a dataclass by name, without those of dataclasses in its fields."""
    found = ((each.name, _declaration(kind, each.name)[0]) for each in fields(kind))
    return {name: option for name, option in found if option is not None}


def check_idle(options: Any, given: Collection[str] | None = None) -> None:
    """Raise InputError if a value was given that has no effect beside another one; see `Idle`.

    Args:
        options: an instance of a dataclass of options.
        given: the names of what was given, with the names of enclosing fields and a point; None for
            all that is not the default.
    """
    declared = list(list_options(options))
    chosen = {each.path[-1]: each for each in declared}
    for each in declared:
        owner, usual = options, type(options)
        for name in each.path[:-1]:
            owner, usual = getattr(owner, name), getattr(usual, name)
        name = each.path[-1]
        other, *values = getattr(owner, "IDLE", {}).get(name, ("",))
        changed = each.default != getattr(usual, name)
        is_given = changed if given is None else ".".join(each.path) in given
        if is_given and other and chosen[other].default in values:
            raise InputError(
                f"{each.flag} has no effect beside {chosen[other].flag} {chosen[other].default}; "
                "leave it out, or change that"
            )


def check_type(name: str, value: object, wanted: type) -> None:
    """Raise InputError unless `value` is an instance of a class, such as one of options."""
    if not isinstance(value, wanted):
        raise InputError(
            f"{name} is {value!r:.60}; it must be of the class "
            f"{wanted.__module__}.{wanted.__name__}"
        )


def list_allowed(options: Any) -> dict[str, tuple[str, ...]]:
    """Return the allowed texts of the options that have only some, by name."""
    return {
        path[0]: option.allowed
        for path, _, _, option in list_options(options)
        if len(path) == 1 and option.allowed
    }


def one_of_two(name: str, other: str) -> InputError:
    """Return the error for two options that exclude each other."""
    return InputError(f"--{name} and --{other} say the same in two ways; give only one of them")


def check_number(name: str, value: object, least: float, most: float | None) -> None:
    """Raise InputError unless `value` is a finite number from `least` to `most`."""
    # No math.isfinite: it overflows on a whole number of 400 digits, which JSON may hold.
    if type(value) not in (int, float) or not _within(value, least, most):
        raise InputError(f"{name} is {value!r:.60}; it must be a number {range_of(least, most)}")


def check_integer(name: str, value: object, least: float, most: float | None = None) -> None:
    """Raise InputError unless `value` is a whole number from `least` to `most`."""
    if type(value) is not int or not _within(value, least, most):
        raise InputError(
            f"{name} is {value!r:.60}; it must be a whole number {range_of(least, most)}"
        )


def range_of(least: float, most: float | None) -> str:
    """Return a range in words.

    >>> range_of(0, 0.5), range_of(1, None)
    ('from 0 to 0.5', 'from 1')
    """
    return f"from {least}" if most is None else f"from {least} to {most}"


def short(number: float) -> str:
    """Return a number as people write it.

    >>> short(1e-06), short(1000000.0), short(0.5), short(1000000)
    ('1e-6', '1e6', '0.5', '1000000')
    """
    if isinstance(number, int):
        return str(number)
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].strip("+"), f"{number:g}")


def _within(value: Any, least: float, most: float | None) -> bool:
    return bool(least <= value and (value < inf if most is None else value <= most))


def check_whole(name: str, value: object, least: int) -> None:
    """Raise InputError unless `value` is a whole number of any type, `least` or more."""
    if type(value) is bool or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, not {value!r:.60}")


def as_list(values: Iterable[Any], name: str, hint: str) -> list[Any]:
    """Return the values of any iterable except a string, an object or a table as a list.

    Raises:
        InputError: `values` is not such an iterable; the message contains `name` and `hint`.
    """
    columns = getattr(values, "columns", None)
    if columns is not None and not callable(columns):  # a table, whose columns' names it would give
        hint = "give one of its columns, or its rows, such as table.to_dict('records') of pandas"
    elif not isinstance(values, str | bytes | Mapping) and isinstance(values, Iterable):
        to_python = getattr(values, "to_pylist", None)  # Arrow iterates over its own types
        return list(to_python() if callable(to_python) else values)
    raise InputError(f"{name} must be a list, not {type(values).__name__}; {hint}")


def check_one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise InputError unless `value` is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; allowed are {', '.join(allowed)}")


def _field(default: object, option: Option) -> Any:
    return field(default=default, metadata={_KEY: option})


def _declaration(kind: type, name: str) -> tuple[Option | None, type]:
    """Return a field's option, or None if it has none, and the class that declares it."""
    found = [(each, vars(each).get("__dataclass_fields__", {}).get(name)) for each in kind.__mro__]
    options = [(entry.metadata.get(_KEY), each) for each, entry in found if entry is not None]
    option = next((option for option, _ in options if option is not None), None)
    return option, [each for declared, each in options if declared is option][-1]
