"""Split texts of any language into words, also where a script has no spaces or writes marks.

English collections keep the rules of `ranklet.runtime.text.words`. All others have these:

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
from itertools import pairwise
from typing import NamedTuple

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
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200c\u200d\u2060\ufeff"))  # inside of words
_ALIKE = str.maketrans({"’": "'", "ʼ": "'", "ı": "i"})

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
    return [word for run in _patterns().folded.findall(fold(text)) for word in _words(run)]


def placed(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield every word of `split` with its character positions: (begin, end, word).

    Runs are matched before they are folded, because folding moves characters. Words of a run that
    folding changes in length all have the run's place.

    >>> list(placed("L'été 東京"))
    [(0, 5, 'ete'), (6, 7, '東'), (6, 8, '東京'), (7, 8, '京')]
    """
    for run in _patterns().written.finditer(text):
        found = split(run[0])
        units = [unit.span() for unit in _patterns().letter.finditer(run[0])]
        letters = _letters(run[0])
        if letters and [fold(run[0][begin:end]) for begin, end in units] == letters:
            for word, first, last in _pairs(letters):
                yield run.start() + units[first][0], run.start() + units[last][1], word
        else:
            for word in found:
                yield run.start(), run.end(), word


def spaced(text: str) -> list[str]:
    """Return the words of `split` that are as they were written, with capitals and accents.

    Pairs of letters are left out.

    >>> spaced("L'été des Häuser 東京")
    ['été', 'des', 'Häuser']
    """
    found = _patterns().written.findall(unicodedata.normalize("NFC", text.translate(_INVISIBLE)))
    return [_bare(run.replace("’", "'")) for run in found if not _patterns().unspaced.match(run)]


def fold(text: str) -> str:
    """Lower the case, resolve compatibility forms and remove accents, but not letters' marks.

    >>> fold("Ｆｕßball й が ไทย"), fold("ISPARTA’nın")
    ('fussball и が ไทย', "isparta'nin")
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.translate(_INVISIBLE).translate(_ALIKE))
    bare = "".join(c for c in decomposed if not unicodedata.combining(c) or _is_kept(c))
    composed = unicodedata.normalize("NFC", bare.casefold().translate(_ALIKE))
    for parts, vowel in _AM.items():
        composed = composed.replace(parts, vowel)
    return composed


def _is_kept(mark: str) -> bool:
    return mark in _VOICED or any(ord(mark) in block for block in _MARKED)


def _words(run: str) -> list[str]:
    """Return the words of a folded run."""
    if letters := _letters(run):
        return [word for word, _, _ in _pairs(letters)]
    return [_bare(run)]


def _bare(run: str) -> str:
    """Return a run without what is elided before an apostrophe and without possessive ``'s``."""
    bare = run.removesuffix("'s")
    head, _, tail = bare.partition("'")
    return tail if tail and fold(head) in _ELIDED else bare


def _letters(run: str) -> list[str]:
    """Return the letters of a run without spaces, each folded and with its marks; else []."""
    return _patterns().letter.findall(fold(run)) if _patterns().unspaced.match(run) else []


def _pairs(letters: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a run without spaces with the places of their first and last letters."""
    for at, (letter, following) in enumerate(pairwise([*letters, ""])):
        if len(letters) == 1 or _patterns().han.match(letter):
            yield letter, at, at
        if following:
            yield letter + following, at, at + 1


class _Patterns(NamedTuple):
    """What runs of letters look like."""

    folded: re.Pattern[str]  # a run in a folded text
    written: re.Pattern[str]  # a run in a text as it was written
    unspaced: re.Pattern[str]  # the beginning of a run without spaces
    letter: re.Pattern[str]  # a letter of such a run with its marks, as it was written
    han: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Return the patterns, which take a millisecond that English collections need not spend."""
    kept = "".join(
        re.escape(chr(code))
        for block in _MARKED
        for code in block
        if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )
    marks = f"{kept}{_VOICED}"
    # Accents still follow their letters in a text that is not folded yet.
    accents = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u00ad\u200c\u200d"
    return _Patterns(
        re.compile(_run(marks, "'")),
        re.compile(_run(marks + accents, f"['’][{accents}]*")),
        re.compile(f"[{_UNSPACED}]"),
        re.compile(rf"(?=\w)[{_UNSPACED}][{marks}{accents}]*"),
        re.compile(f"[{_HAN}]"),
    )


def _run(marks: str, apostrophe: str) -> str:
    """Return the pattern of a run, letters with their marks, with or without spaces around it."""
    letters = rf"(?:(?![{_UNSPACED}])[^\W_][{marks}]*)+"
    return rf"(?:(?=\w)[{_UNSPACED}][{marks}]*)+|{letters}(?:{apostrophe}{letters})*"
