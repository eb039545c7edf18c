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

A recipe that nobody has named is obeyed because it lies in the current folder, which somebody else
may have made. So it can name only paths inside of its folder, and replace only what it has built.
"""

import argparse
import json
import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ranklet.corpus.sources.databases import SCHEME
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError, RankletError, suggest
from ranklet.runtime.storage.address import writable

RECIPE = Path("ranklet.toml")
SOURCE, OUTPUT, MODEL = "source", "output", "model"
NAMES = (MODEL, "vectors")  # a path, or else the name of a model or a column
PATHS = (SOURCE, OUTPUT, "synonyms", "texts", "forms", "pairs", *NAMES)
# Keys by which something is fetched, or texts go to other machines.
ELSEWHERE = ("download", "engine", "address", "num-actors", "gpus-per-actor")


class Given(NamedTuple):
    """What a recipe says.

    Attributes:
        words: the arguments that it stands for.
        refused: the keys of these that it may not say unless somebody has named it, as TOML.
    """

    words: list[str]
    refused: list[str]

    def __str__(self) -> str:
        """Return the arguments as they would be typed."""
        return shlex.join(self.words)


def read_recipe(
    recipe: Path, parser: argparse.ArgumentParser, typed: Sequence[str], *, source: bool
) -> Given:
    """Return what a recipe says besides what was typed.

    Args:
        recipe: the file.
        parser: the command's, which has a flag for each key.
        typed: what was typed, without the name of the command.
        source: whether a source was typed.

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
    words, refused = list[str](), list[str]()
    for key, value in content.items():
        if key != SOURCE and key not in flags:
            raise InputError(f"{str(recipe)!r}: {_unknown(key, [SOURCE, *flags])}")
        action = flags.get(key)
        if (source and key == SOURCE) or (action is not None and action in given):
            continue
        if key in PATHS:
            value = _resolve(value, recipe.parent, must=key not in NAMES)
        if (key in ELSEWHERE and value is not False) or (
            key in PATHS and not _is_inside(key, value, recipe.parent)
        ):
            refused.append(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}")
        try:
            words += [str(value)] if action is None else _words(f"--{key}", action, value)
        except ValueError:
            raise InputError(
                f"{str(recipe)!r}: {key} is {value!r:.60}, which the flag --{key} does not take"
            ) from None
    return Given(words, refused)


def check_refused(given: Given, recipe: Path) -> None:
    """Raise InputError if a recipe that nobody has named says what it may not say."""
    if given.refused:
        raise InputError(
            f"{recipe} says {', '.join(given.refused)}, but was only found here; type these as "
            "flags, or name the file by --recipe, if you trust who wrote it"
        )


def check_replaced(recipe: Path, output: str) -> None:
    """Raise InputError if a recipe that nobody has named would replace what it has not built."""
    place = writable(output)
    if not place.exists():
        return
    try:
        made = BundleFiles(place).manifest.provenance.get("recipe")
    except RankletError:
        made = None
    if made != name_build(recipe, output):
        raise InputError(
            f"{output!r} was not built by {recipe}, which was only found here; to replace it, "
            f"type --force, or name the file by --recipe {recipe}"
        )


def name_build(recipe: Path, output: str) -> str:
    """Return what names a recipe and its bundle in the bundle's provenance.

    It is the same on all machines, and in all places, to which both are brought together.
    """
    place = writable(output)
    try:
        file = Path(os.path.relpath(recipe.resolve(), place.parent)).as_posix()
    except ValueError:  # on another drive of Windows
        file = recipe.name
    return f"{place.name} by {file}"


def _is_inside(key: str, value: Any, folder: Path) -> bool:
    """Return whether a key names what is in a folder, wherever links lead."""
    if isinstance(value, list):
        return all(_is_inside(key, each, folder) for each in value)
    if not isinstance(value, str) or (key in NAMES and not Path(value).exists()):
        return True  # it is no path, but the name of a model, or is refused as none
    if value.startswith(SCHEME):
        value = unquote(value.removeprefix(SCHEME).partition("?")[0])
    try:
        inside, place = folder.resolve(), Path(value).resolve()
        places = [place]
        if place.parent.name == "snapshots":  # of the hub's cache, whose files lie beside them
            places.append(place.parent.parent)
        if key == OUTPUT:  # and what stands beside a bundle under its name
            around = place.parent.glob("*")
            places += [each for each in around if each.name.lstrip(".").startswith(place.name)]
        return value != "-" and all(each.resolve().is_relative_to(inside) for each in places)
    except (OSError, RuntimeError, ValueError):  # links in a loop, a NUL
        return False


def _key(word: str) -> str:
    return word.removeprefix("--").partition("=")[0] if word.startswith("--") else ""


def _short(word: str, parser: argparse.ArgumentParser) -> argparse.Action | None:
    """Return the option that a short flag such as -o names."""
    is_short = word.startswith("-") and not word.startswith("--")
    return parser._option_string_actions.get(word[:2]) if is_short else None


def _unknown(key: str, known: Sequence[str]) -> str:
    meant = suggest(key.replace("_", "-"), known)
    return f"there is no key {key[:60]!r}{meant} (`ranklet build --help` lists all flags)"


def _words(flag: str, action: argparse.Action, value: Any) -> Iterator[str]:
    """Return a flag with a value as it would be typed.

    Raises:
        ValueError: the flag cannot have the value.
    """
    if action.nargs == 0:
        if type(value) is not bool:
            raise ValueError
        if isinstance(action, argparse.BooleanOptionalAction):  # whose default is neither
            return (each for each in action.option_strings if (each == flag) is value)
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
    return (f"{flag}={each}" for each in values)  # one word, because a value may look like a flag


def _resolve(value: Any, folder: Path, *, must: bool) -> Any:
    """Return paths relative to a folder; addresses, and names of models, stay as they are."""
    if isinstance(value, list):
        return [_resolve(each, folder, must=must) for each in value]
    if isinstance(value, str) and value.startswith(SCHEME):
        path, mark, asked = value.removeprefix(SCHEME).partition("?")
        return f"{SCHEME}{quote(str(folder / unquote(path)))}{mark}{asked}"
    if not isinstance(value, str) or "://" in value or value == "-":
        return value
    path = str(folder / value) if must or (folder / value).exists() else value
    return f"./{path}" if path.startswith("-") else path  # which would be a flag
