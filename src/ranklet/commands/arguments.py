"""Arguments of a command line, made of options (`ranklet.runtime.ground.options`)."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Declared,
    Option,
    check_idle,
    list_options,
    one_of_two,
    short,
)

T = TypeVar("T")

_SHOWN = 1_000_000  # a larger limit only keeps memory whole
METAVARS = {
    int: "N", float: "X", str: "NAME", object: "VALUE", Path: "PATH", dict: "JSON", list: "NAME",
}  # fmt: skip


def add_options(
    group: Callable[[str], "argparse._ActionsContainer"], options: Any, *names: str
) -> None:
    """Declare an argument for each option of a dataclass that has one.

    Args:
        group: returns the part of a help text under some title.
        options: an instance, whose values are the defaults.
        names: those that are meant; none for all.
    """
    for declared in list_options(options):
        if declared.option.flag is not None and (not names or declared.path[-1] in names):
            title = getattr(declared.group, "GROUP", options.GROUP)
            _add(group(title), declared)


def add_group(parser: argparse.ArgumentParser, options: Any, about: str | None = None) -> None:
    """Declare the options of a dataclass in a part of the help text that has its `GROUP`."""
    group = parser.add_argument_group(options.GROUP, about)
    add_options(lambda _: group, options)


def add_groups(parser: argparse.ArgumentParser, options: Any) -> None:
    """Declare the options of a dataclass, and of those in its fields, in a part for each."""
    groups: dict[str, argparse._ArgumentGroup] = {}

    def group(title: str) -> argparse._ArgumentGroup:
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        return groups[title]

    add_options(group, options)


def add_judged(parser: argparse.ArgumentParser) -> None:
    """Declare what judged queries teach, and where the result is written."""
    parser.add_argument("bundle", help="a bundle with documents, on disk")
    parser.add_argument(
        "judged",
        help="folder of judged queries in BEIR form or of `ranklet judge`, or a .csv or .tsv file "
        "of clicks with the columns query, id, clicks and perhaps position",
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare where a command computes; see `EngineOptions`."""
    add_group(parser, LOCAL, "docs/scaling.md#ray says how.")


def engine_from(given: argparse.Namespace) -> EngineOptions:
    """Return where a command computes."""
    return options_from(LOCAL, vars(given))


def options_from(options: T, given: Mapping[str, Any]) -> T:
    """Return options with the values that were given, by the names that `add_options` uses.

    Raises:
        InputError: a value is not allowed or cannot be read, two exclude each other, or one has no
            effect beside another.
    """
    changes: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, _, _, option in list_options(options):
        if (name := ".".join(path)) in given:
            if option.instead_of in given:
                raise one_of_two(name, option.instead_of)
            value = option.read(given[name]) if option.read else given[name]
            if option.kind is dict:
                read = {"again": read_objects, "all": read_conditions}
                value = read.get(option.many, read_object)(value, option, name)
            (changes if len(path) == 1 else inner.setdefault(path[0], {}))[path[-1]] = value
    changes |= {name: replace(getattr(options, name), **values) for name, values in inner.items()}
    chosen: T = replace(options, **changes)  # type: ignore[type-var]
    check_idle(chosen, given)
    return chosen


def read_objects(texts: Sequence[str], option: Option, name: str) -> dict[str, Any]:
    """Return options by field, of names and of JSON objects."""
    found: dict[str, Any] = {}
    for text in texts:
        whole = text.lstrip().startswith("{")
        found |= read_object(text, option, name) if whole else {text: None}
    return found


def read_conditions(texts: Sequence[str], option: Option, name: str) -> Any:
    """Return a filter, of conditions as a person types them and of JSON objects."""
    found = [
        read_object(each, option, name) if each.lstrip()[:1] in ("{", "[") else each
        for each in texts
    ]
    return found[0] if len(found) == 1 else {"and": found}


def read_object(text: str, option: Option, name: str) -> dict[str, Any]:
    """Return the object that the JSON text of an option is; the bundle checks what it says.

    Raises:
        InputError, RequestError: it is no JSON object, or has a key twice.
    """
    from ranklet.handlers.api.reading import loads  # a key that stands twice is an error

    flag = option.name_flag(name, None)
    try:
        value = loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{flag} is not JSON ({error}); give an object such as '{option.example}'"
        ) from None
    if not isinstance(value, dict):
        raise InputError(f"{flag} must be a JSON object, not {text[:40]}")
    return value


def _add(group: "argparse._ActionsContainer", declared: Declared) -> None:
    option, name = declared.option, ".".join(declared.path)
    flag = declared.flag
    about = describe_option(option, declared.default).replace("%", "%%")
    if option.kind is bool:
        if declared.default is None:
            both = argparse.BooleanOptionalAction
            group.add_argument(flag, dest=name, action=both, default=argparse.SUPPRESS, help=about)
            return
        action = "store_false" if declared.default else "store_true"
        about = f"do not {about}" if flag == f"--no-{name}" and not option.flag else about
        group.add_argument(flag, dest=name, action=action, default=argparse.SUPPRESS, help=about)
        return
    group.add_argument(
        flag, dest=name, default=argparse.SUPPRESS, help=about, type=_reader(declared),
        metavar=option.metavar or METAVARS[option.kind],
        action="append" if option.many in ("again", "all") or option.kind is list else "store",
        nargs="+" if option.many == "+" else None,
    )  # fmt: skip


def describe_option(option: Option, default: object) -> str:
    """Return an option's help: what it is, what is allowed, the default and the range.

    >>> describe_option(Option("queries per batch", int, 1), 4)
    'queries per batch (default 4; at least 1)'
    >>> describe_option(Option("learning rate", float, 1e-6, 1e6), None)
    'learning rate (no default; 1e-6 to 1e6)'
    >>> describe_option(Option("what to read", str, allowed=("words", "lemmas")), "words")
    'what to read: words or lemmas (default words)'
    """
    about, limits = describe_allowed(option)
    facts = []
    if option.kind in (int, float, str) and default != "":
        shown = short(default) if isinstance(default, float) else default
        if default is not None or not (option.example or "default" in about):
            facts.append("no default" if default is None else f"default {shown}")
    return with_facts(about, [*facts, *limits])


def describe_allowed(option: Option) -> tuple[str, list[str]]:
    """Return what an option is, with its allowed texts, and its range in a list."""
    about = option.about
    if not all(each in about for each in option.allowed):
        *others, last = option.allowed
        about += f": {', '.join(others)} or {last}"
    if option.kind not in (int, float):
        return about, []
    if option.most is None or option.most > _SHOWN:
        natural = option.kind is int and option.least == 0  # of counts, which need no such limit
        natural |= option.least < -_SHOWN
        return about, [] if natural else [f"at least {short(option.least)}"]
    return about, [f"{short(option.least)} to {short(option.most)}"]


def with_facts(about: str, facts: Sequence[str]) -> str:
    """Return a help text with facts in parentheses."""
    return f"{about} ({'; '.join(facts)})" if facts else about


def _reader(declared: Declared) -> Callable[[str], Any]:
    """Return what makes a value from what was typed, for argparse."""
    option, name = declared.option, declared.path[-1]

    def read(typed: str) -> Any:
        value: Any = typed
        if option.kind in (int, float):
            with suppress(ValueError):
                value = option.kind(typed)
        try:
            if option.read is None:
                option._replace(untyped="").check(name, value)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return value

    return read
