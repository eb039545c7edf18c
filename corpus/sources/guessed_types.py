"""Guess what the cells of a table stand for, where they are written as people of a country do."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ranklet.corpus.sources.column_types import parse_value
from ranklet.runtime.bundles.manifest import COMMA, DMY, FLAG, MDY, NUMBER

_PAIRS = ((NUMBER, COMMA), (MDY, DMY))  # two readings, of which the whole column decides
_LONGEST = 40  # characters of such a cell
_FEW, _SHARE = 3, 20  # cells, or one of so many, that may be something else
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|\d{4}-\d\d.*", re.IGNORECASE)
_CODE = re.compile(r"-?0\d.*|\+.*")  # as postal codes and telephone numbers begin
_LETTERS = ({"j", "n"}, {"y", "n"}, {"o", "n"}, {"s", "n"}, {"t", "n"})
_WRONG = object()


class Guesses:
    """What the cells of one column may stand for, counted over all of them."""

    def __init__(self) -> None:
        self._count = 0
        self._wrong = dict.fromkeys((NUMBER, COMMA, FLAG, DMY, MDY), 0)
        self._differ = dict.fromkeys((NUMBER, DMY), "")  # a cell that reads in two ways
        self._odd = ""  # a cell that is not as machines write it
        self._words = set[str]()

    def add(self, cell: str) -> None:
        """Add a cell that is not missing."""
        if not self._wrong:
            return
        text = cell.strip()
        self._count += 1
        found = {type_: _try(text, type_) for type_ in self._wrong}
        if any(value is not None for value in found.values()) and not _PLAIN.fullmatch(text):
            self._odd = self._odd or text
        if found.get(FLAG, _WRONG) is not _WRONG:
            self._words.add(text.lower())
        for one, other in _PAIRS:
            ours, theirs = found.get(one, _WRONG), found.get(other, _WRONG)
            if _WRONG not in (ours, theirs) and ours != theirs:
                self._differ[NUMBER if one == NUMBER else DMY] = text
        for type_, value in found.items():
            self._wrong[type_] += value is _WRONG
        most = max(_FEW, self._count // _SHARE)
        self._wrong = {type_: bad for type_, bad in self._wrong.items() if bad <= most}

    def guess(self) -> tuple[str, str]:
        """Return a type and a cell that shows why; of two readings both types, with a comma.

        The type is "" where cells are as machines write them, or stand for texts.
        """
        most = self._count // _SHARE
        fits = {type_: bad for type_, bad in self._wrong.items() if bad <= most}
        letters = all(len(word) == 1 for word in self._words)
        if not fits.get(FLAG, 1) and self._odd and (not letters or self._words in _LETTERS):
            return FLAG, self._odd
        for one, other in _PAIRS:
            if not self._odd or not {one, other} & fits.keys():
                continue
            if {one, other} <= fits.keys() and fits[one] == fits[other]:
                differs = self._differ[NUMBER if one == NUMBER else DMY]
                if differs and "." in differs and one == MDY:
                    return DMY, differs  # nobody writes the month first with points
                return (f"{one},{other}" if differs else one), differs or self._odd
            return min({one, other} & fits.keys(), key=lambda each: fits[each]), self._odd
        return "", ""


def _try(text: str, type_: str) -> Any:
    if len(text) > _LONGEST or (type_ in (NUMBER, COMMA) and _CODE.fullmatch(text)):
        return _WRONG
    try:
        return parse_value(text, type_)
    except ValueError:
        return _WRONG


def say_guesses(guesses: Mapping[str, Guesses], names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return the guessed types of some columns, and in words what was guessed and what was not."""
    types, said, doubts = dict[str, str](), list[str](), list[str]()
    for name in names:
        type_, cell = guesses[name].guess()
        if "," in type_:
            doubts.append(
                f"{name!r} has {cell!r}, which reads as {' and as '.join(type_.split(','))}"
            )
        elif type_:
            types[name] = type_
            said.append(f"{name!r} is {type_} (as {cell!r})")
    parts = []
    if said:
        name = next(iter(types))
        parts.append(f"guessed {', '.join(said)}; keep one as it is by --types {name}=string")
    if doubts:
        parts.append(f"kept as strings, because {', '.join(doubts)}; say which by --types")
    return types, "; ".join(parts)
