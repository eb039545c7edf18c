"""Choose the part of a text that shows best why it was found."""

import re
from collections.abc import Sequence
from functools import cache

_SPACE = r"\s+"
_LAST_SPACE = r"(?<!\s)\s++\S*+\Z"
_NEAR = 32  # characters before the end, in which there mostly is a space
_BEFORE = 3  # of the characters that are left beside the words, one of so many stands before them


def excerpt(text: str, places: Sequence[tuple[int, int]], size: int) -> str:
    """Return at most `size` characters of a text on one line, with … where something is left out.

    >>> excerpt("Flour is white. Knead the dough well. Bake it.", [(26, 31)], 26)
    '… the dough well. Bake …'

    Args:
        text: the text.
        places: the words that matter, as (begin, end).
        size: the most characters.
    """
    if len(text) <= size:
        return _on_one_line(text)
    begin, end = window(text, places, max(1, size - 4))
    shown = _on_one_line(text[begin:end])
    return f"{'… ' if begin else ''}{shown}{' …' if end < len(text) else ''}"[:size]


def window(text: str, places: Sequence[tuple[int, int]], size: int) -> tuple[int, int]:
    """Return which characters to show: those around the most different places.

    >>> window("dough, then the cake of a mouse in dough", [(0, 5), (26, 31), (35, 40)], 20)
    (21, 40)

    Args:
        text: the text.
        places: the words that matter, as (begin, end); none for the beginning of the text.
        size: the most characters.
    """
    if len(text) <= size:
        return 0, len(text)
    first, last = _densest(text, sorted(places), size)
    begin = max(0, min(first - (size - (last - first)) // _BEFORE, len(text) - size))
    end = min(len(text), begin + size)
    if begin and not text[begin - 1].isspace():
        space = _pattern(_SPACE).search(text, begin, first)
        begin = space.end() if space else begin
    if end < len(text) and not text[end].isspace():
        find, least = _pattern(_LAST_SPACE).search, max(last, begin + 1)
        space = find(text, max(least, end - _NEAR), end) or find(text, least, end)
        end = space.start() if space else end
    return begin, end


@cache
def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(written)


def _on_one_line(text: str) -> str:
    r"""Return a text with one space in place of each white space.

    >>> _on_one_line(" a  text\n"), _on_one_line(" words")
    ('a text', 'words')
    """
    # Of white space only a space is printable.
    only_spaces = text.isprintable() and "  " not in text
    return text.strip(" ") if only_spaces else " ".join(text.split())


def _densest(text: str, places: Sequence[tuple[int, int]], size: int) -> tuple[int, int]:
    """Return the first and the last character of the places with the most different words."""
    if places and places[-1][1] - places[0][0] <= size:
        return places[0][0], places[-1][1]
    words = [text[begin:end].casefold() for begin, end in places]
    counts = dict.fromkeys(words, 0)
    chosen, most, at, different = (0, 0), (0, 0), 0, 0
    for last, (word, (_, end)) in enumerate(zip(words, places, strict=True)):
        different += not counts[word]
        counts[word] += 1
        while at < last and end - places[at][0] > size:
            counts[words[at]] -= 1
            different -= not counts[words[at]]
            at += 1
        found = different, last + 1 - at
        if found > most:
            most, chosen = found, (places[at][0], end)
    return chosen[0], min(chosen[1], chosen[0] + size)
