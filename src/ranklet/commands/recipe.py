"""Read ranklet.toml, the recipe of a bundle, whose keys are the flags of `ranklet build`.

    source = "texts.csv"
    output = "search.ranklet"
    force = true
    model = ["intfloat/multilingual-e5-small"]
    synonyms = "words.txt"

    [field]
    author = 1
    section = 2

    [boost.date]
    half_life = "30d"
    weight = 0.2

Relative paths are relative to the file. A flag that is typed counts in place of its key.
"""

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import InputError

RECIPE = Path("ranklet.toml")
SOURCE = "source"
PATHS = (SOURCE, "output", "synonyms", "texts", "model")


def arguments_of(
    recipe: Path, parser: argparse.ArgumentParser, typed: Sequence[str], *, named: bool
) -> list[str]:
    """Return the arguments that a recipe stands for, and after them those that were typed.

    Args:
        recipe: the file.
        parser: the command's, which has a flag for each key.
        typed: what was typed, without the name of the command.
        named: whether a source was typed.

    Raises:
        InputError: the file cannot be read, or a key or a value is wrong.
    """
    try:
        content = tomllib.loads(recipe.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(recipe)!r} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{str(recipe)!r} is not TOML: {error}") from error
    flags = {
        flag.removeprefix("--"): action
        for action in parser._actions
        for flag in action.option_strings[-1:]
        if flag not in ("--help", "--recipe")
    }
    given = {flags.get(_key(word)) for word in typed} | {_short(word, parser) for word in typed}
    words = list[str]()
    for key, value in content.items():
        if key != SOURCE and key not in flags:
            raise InputError(f"{str(recipe)!r}: {_unknown(key, [SOURCE, *flags])}")
        action = flags.get(key)
        if (named and key == SOURCE) or (action is not None and action in given):
            continue
        if key in PATHS:
            value = _resolve(value, recipe.parent, must=key != "model")
        try:
            words += [str(value)] if action is None else _words(f"--{key}", action, value)
        except ValueError:
            raise InputError(
                f"{str(recipe)!r}: {key} is {value!r:.60}, which the flag --{key} does not take"
            ) from None
    return [*words, *typed]


def _key(word: str) -> str:
    return word.removeprefix("--").partition("=")[0] if word.startswith("--") else ""


def _short(word: str, parser: argparse.ArgumentParser) -> argparse.Action | None:
    """Return the option that a short flag such as -o names."""
    is_short = word.startswith("-") and not word.startswith("--")
    return parser._option_string_actions.get(word[:2]) if is_short else None


def _unknown(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("_", "-"), known, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"there is no key {key[:60]!r}{meant} (`ranklet build --help` lists all flags)"


def _words(flag: str, action: argparse.Action, value: Any) -> Iterator[str]:
    """Return a flag with a value as it would be typed.

    Raises:
        ValueError: the flag cannot have the value.
    """
    if action.nargs == 0:
        if type(value) is not bool:
            raise ValueError
        return iter([flag] * value)
    if flag == "--boost" and isinstance(value, Mapping):
        return iter([flag, json.dumps(value)])
    if flag == "--types" and isinstance(value, Mapping):
        return iter([flag, ",".join(f"{name}={each}" for name, each in value.items())])
    if flag == "--field" and isinstance(value, Mapping):
        value = [f"{name}:{weight}" for name, weight in value.items()]
    several = isinstance(action, argparse._AppendAction) or action.nargs == "+"
    values = value if isinstance(value, list) and several else [value]
    if not all(type(each) in (str, int, float) for each in values):
        raise ValueError
    if action.nargs == "+":
        return iter([flag, *map(str, values)])
    return (word for each in values for word in (flag, str(each)))


def _resolve(value: Any, folder: Path, *, must: bool) -> Any:
    """Return paths relative to a folder; addresses, and names of models, stay as they are."""
    if isinstance(value, list):
        return [_resolve(each, folder, must=must) for each in value]
    if not isinstance(value, str) or "://" in value or value == "-":
        return value
    return str(folder / value) if must or (folder / value).exists() else value
