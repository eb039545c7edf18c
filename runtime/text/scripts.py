"""Split texts of any language into words, also where a script has no spaces or writes marks.

English collections have the rules of `ranklet.runtime.text.words`. All others have these, besides
those of `ranklet.runtime.text.splitter`:

- A mark of a letter (a vowel sign of Devanagari, a tone of Thai) stays with it. Accents are removed
  as in English, unless a word would become a stop word of the language.
- Han, kana, Hangul, Thai, Lao, Khmer and Burmese have no spaces between words (Hangul has them
  between phrases). Each two neighbouring letters are a word, and so is each Han character.
- What French, Italian and Catalan elide before an apostrophe is left out (l'homme, dell'arte), and
  so is what other languages add to a word; see `ranklet.runtime.text.spellings.affixes`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache, partial
from itertools import accumulate, pairwise
from typing import NamedTuple

from ranklet.runtime.text.known_words import KnownWords
from ranklet.runtime.text.spellings import ACCENTS, VOICED, affixes, marks, respelled
from ranklet.runtime.text.splitter import Placed, Splitter, readable

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA_AND_HANGUL = "\u1100-\u11ff\u3040-\u30fa\u30fc-\u30ff\uac00-\ud7a3\uff66-\uff9f"
_THAI_TO_KHMER = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
_UNSPACED = f"{_HAN}{_KANA_AND_HANGUL}{_THAI_TO_KHMER}"
# Scripts whose combining marks are letters in their own right, Thaana and Devanagari to Vedic.
_MARKED = (
    range(0x780, 0x7C0),
    range(0x900, 0x1AB0),
    range(0x1B00, 0x1D00),
    range(0xA800, 0xAC00),
    range(0x11000, 0x12000),
)
Bare = Callable[[str], tuple[int, int]]

# Function words before an apostrophe, without it.
_FRENCH = "c d j l m n s t qu jusqu lorsqu puisqu quoiqu presqu quelqu"
_ITALIAN = "un all coll dall dell nell sull quell quest gl agl dagl degl negl sugl"
_ELIDED = frozenset(f"{_FRENCH} {_ITALIAN}".split())


def split(text: str) -> list[str]:
    """Split a text of any language into words in lower case; see the module.

    >>> split("L'été des Häuser"), split("हिन्दी में")
    (['ete', 'des', 'hauser'], ['हिंदी', 'में'])
    >>> split("東京タワー"), split("猫")
    (['東', '東京', '京', '京タ', 'タワ', 'ワー'], ['猫'])
    """
    return splitter().words(text)


def spaced(text: str, bare: Bare) -> list[str]:
    """Return the words of `split` that are as they were written, with capitals and accents.

    Pairs of letters and wholes with signs are left out.

    Args:
        text: any text.
        bare: what finds the words in what their language adds to them; see `bare_words`.

    >>> spaced("L'été des Häuser 東京", bare_words(("fr",)))
    ['été', 'des', 'Häuser']
    """
    found = []
    for run in _patterns().written.findall(unicodedata.normalize("NFC", readable(text))):
        begin, end = bare(fold(run))
        found.append(run[begin:end] if len(fold(run)) == len(run) else run[begin:])
    return found


def fold(text: str) -> str:
    """Lower the case, resolve compatibility forms and remove accents, but not letters' marks.

    >>> fold("Ｆｕßball й が ไทย"), fold("ISPARTA’nın")
    ('fussball и が ไทย', "isparta'nin")
    """
    return splitter().fold(text)


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script without spaces between words.

    >>> is_unspaced("東京"), is_unspaced("ubuntu")
    (True, False)
    """
    return _patterns().letter.match(word) is not None


class _Every(frozenset[str]):
    """A list of stop words that has every word, so that none loses its accents."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # it is no empty set

    def __contains__(self, word: object) -> bool:
        return True


EVERY = _Every()


@lru_cache(8)
def splitter(
    languages: tuple[str, ...] = (),
    stopped: AbstractSet[str] = frozenset(),
    known: KnownWords | None = None,
) -> Splitter:
    """Return how texts of some languages are split.

    Args:
        languages: their codes.
        stopped: their stop words, as they are written in lower case.
        known: the words of the collection that divide runs without spaces.
    """
    letter = rf"[^\W_{_UNSPACED}][{_marks()}{ACCENTS}]*"
    unspaced = rf"(?:(?=\w)[{_UNSPACED}][{_marks()}]*)+"
    bare = bare_words(languages, stopped)
    divided = _pairs if known is None else partial(_divide, known)
    return Splitter(lambda: letter, unspaced, divided, bare, _is_kept, stopped)


def bare_words(languages: tuple[str, ...], stopped: AbstractSet[str] = frozenset()) -> Bare:
    """Return a function that finds a word between the affixes of its language.

    What it leaves out is elided before an apostrophe, possessive ``'s``, or what `affixes` finds.
    """
    find = affixes(languages)

    def bare(word: str) -> tuple[int, int]:
        if word in stopped:
            return 0, len(word)
        begin, end = find(word)
        if word[begin:end] in stopped and "'" not in word:  # الكل is no article before كل
            return 0, len(word)
        rest = word[begin:end].removesuffix("'s")
        head, _, tail = rest.partition("'")
        return begin + (len(head) + 1 if tail and fold(head) in _ELIDED else 0), begin + len(rest)

    return bare


def _is_kept(mark: str) -> bool:
    return mark in VOICED or any(ord(mark) in block for block in _MARKED)


def _pairs(run: str) -> Iterator[Placed]:
    """Yield the words of a run without spaces, with the places of their letters."""
    letters, ends = _letters(run)
    yield from _pair(letters, ends)


def _divide(known: KnownWords, run: str) -> Iterator[Placed]:
    """Yield the words of a run that a collection has, and pairs of the letters in between."""
    letters, ends = _letters(run)
    for (begin, end), is_known in known.division(letters):
        if not is_known:
            yield from _pair(letters[begin:end], ends[begin : end + 1])
        elif not known.pairs or end - begin > 1:
            yield ends[begin], ends[end], "".join(letters[begin:end])
    if known.pairs:
        yield from _pair(letters, ends)


def _letters(run: str) -> tuple[list[str], list[int]]:
    """Return the letters of a run without spaces with their marks, and where they begin and end.

    They all have the run's place if composing it changes the number of letters.
    """
    letters = _patterns().letter.findall(run)
    composed = respelled(unicodedata.normalize("NFC", run))
    ends = list(accumulate(map(len, letters), initial=0))
    if composed != run:
        letters = _patterns().letter.findall(composed)
        if len(letters) != len(ends) - 1:
            ends = [0, *[len(run)] * len(letters)]
    return letters, ends


def _pair(letters: Sequence[str], ends: Sequence[int]) -> Iterator[Placed]:
    han = _patterns().han
    for at, (letter, following) in enumerate(pairwise([*letters, ""])):
        if len(letters) == 1 or han.match(letter):
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
    points = (
        "\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u0711\u0730-\u074a"
    )
    letters = rf"(?:[^\W_{_UNSPACED}][{_marks()}{ACCENTS}{points}]*)+"
    return _Patterns(
        re.compile(f"{letters}(?:'{letters})*"),
        re.compile(rf"(?=\w)[{_UNSPACED}][{_marks()}]*"),
        re.compile(f"[{_HAN}]"),
    )


@cache
def _marks() -> str:
    """Return the marks that are more than accents, as a part of a pattern."""
    return VOICED + marks(*_MARKED)
