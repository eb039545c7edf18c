"""Split texts of any language into words, also where a script has no spaces or writes marks.

English collections have the rules of `ranklet.runtime.text.words`. All others have these, besides
those of `ranklet.runtime.text.splitter`:

- A mark of a letter (a vowel sign of Devanagari, a tone of Thai) stays with it. Accents are removed
  as in English.
- Han, kana, Hangul, Thai, Lao, Khmer and Burmese have no spaces between words (Hangul has them
  between phrases). Each two neighbouring letters are a word, and so is each Han character.
- What French, Italian and Catalan elide before an apostrophe is left out (l'homme, dell'arte).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ranklet.runtime.text.splitter import Placed, Splitter, readable

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA_AND_HANGUL = "\u1100-\u11ff\u3040-\u30fa\u30fc-\u30ff\uac00-\ud7a3\uff66-\uff9f"
_THAI_TO_KHMER = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
_UNSPACED = f"{_HAN}{_KANA_AND_HANGUL}{_THAI_TO_KHMER}"
# Scripts whose combining marks are letters in their own right, from Devanagari to Vedic signs.
_MARKED = (
    range(0x900, 0x1AB0),
    range(0x1B00, 0x1D00),
    range(0xA800, 0xAC00),
    range(0x11000, 0x12000),
)
_VOICED = "\u3099\u309a"  # they make が of か
_AM = {"\u0e4d\u0e32": "\u0e33", "\u0ecd\u0eb2": "\u0eb3"}  # vowels that NFKD takes apart
# Function words before an apostrophe, without it.
_FRENCH = "c d j l m n s t qu jusqu lorsqu puisqu quoiqu presqu quelqu"
_ITALIAN = "un all coll dall dell nell sull quell quest gl agl dagl degl negl sugl"
_ELIDED = frozenset(f"{_FRENCH} {_ITALIAN}".split())


def split(text: str) -> list[str]:
    """Split a text of any language into words in lower case; see the module.

    >>> split("L'été des Häuser"), split("हिन्दी में")
    (['ete', 'des', 'hauser'], ['हिन्दी', 'में'])
    >>> split("東京タワー"), split("猫")
    (['東', '東京', '京', '京タ', 'タワ', 'ワー'], ['猫'])
    """
    return splitter().words(text)


def placed(text: str) -> Iterator[Placed]:
    """Yield every word of `split` with its character positions: (begin, end, word).

    >>> list(placed("L'été 東京"))
    [(0, 5, 'ete'), (6, 7, '東'), (6, 8, '東京'), (7, 8, '京')]
    """
    return splitter().placed(text)


def spaced(text: str) -> list[str]:
    """Return the words of `split` that are as they were written, with capitals and accents.

    Pairs of letters and wholes with signs are left out.

    >>> spaced("L'été des Häuser 東京")
    ['été', 'des', 'Häuser']
    """
    found = []
    for run in _patterns().written.findall(unicodedata.normalize("NFC", readable(text))):
        begin, end = _bare(fold(run))
        found.append(run[begin:end] if len(fold(run)) == len(run) else run[begin:])
    return found


def fold(text: str) -> str:
    """Lower the case, resolve compatibility forms and remove accents, but not letters' marks.

    >>> fold("Ｆｕßball й が ไทย"), fold("ISPARTA’nın")
    ('fussball и が ไทย', "isparta'nin")
    """
    return splitter().fold(text)


@cache
def splitter() -> Splitter:
    """Return how texts are split; its patterns take a millisecond that English need not spend."""
    letter = rf"[^\W_{_UNSPACED}][{_marks()}]*"
    unspaced = rf"(?:(?=\w)[{_UNSPACED}][{_marks()}]*)+"
    return Splitter(letter, unspaced, _pairs, _bare, _is_kept, _compose)


def _is_kept(mark: str) -> bool:
    return mark in _VOICED or any(ord(mark) in block for block in _MARKED)


def _compose(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    for parts, vowel in _AM.items():
        composed = composed.replace(parts, vowel)
    return composed


def _bare(word: str) -> tuple[int, int]:
    """Leave out what is elided before an apostrophe and possessive ``'s``."""
    bare = word.removesuffix("'s")
    head, _, tail = bare.partition("'")
    return len(head) + 1 if tail and head in _ELIDED else 0, len(bare)


def _pairs(run: str) -> Iterator[Placed]:
    """Yield the words of a run without spaces, with the places of their letters.

    They all have the run's place if composing it changes the number of letters.
    """
    letters, composed = _patterns().letter.findall(run), _compose(run)
    ends = list(accumulate(map(len, letters), initial=0))
    if composed != run:
        letters = _patterns().letter.findall(composed)
        if len(letters) != len(ends) - 1:
            yield from ((0, len(run), word) for _, _, word in _pairs(composed))
            return
    han = set(_patterns().han.findall(run))
    for at, (letter, following) in enumerate(pairwise([*letters, ""])):
        if len(letters) == 1 or letter[0] in han:
            yield ends[at], ends[at + 1], letter
        if following:
            yield ends[at], ends[at + 2], letter + following


class _Patterns(NamedTuple):
    """What letters look like."""

    written: re.Pattern[str]  # a word between spaces in a text as it was written
    letter: re.Pattern[str]  # a letter with its marks in a run without spaces
    han: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    accents = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670"
    letters = rf"(?:[^\W_{_UNSPACED}][{_marks()}{accents}]*)+"
    return _Patterns(
        re.compile(f"{letters}(?:'{letters})*"),
        re.compile(rf"(?=\w)[{_UNSPACED}][{_marks()}]*"),
        re.compile(f"[{_HAN}]"),
    )


@cache
def _marks() -> str:
    """Return the marks that are more than accents, as a part of a pattern."""
    return _VOICED + "".join(
        re.escape(chr(code))
        for block in _MARKED
        for code in block
        if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
