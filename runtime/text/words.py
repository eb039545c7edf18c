"""Split English texts into words, in lower case and without accents."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ranklet.runtime.storage.package_files import package_text
from ranklet.runtime.text.spellings import ACCENTS, VOICED, marks
from ranklet.runtime.text.splitter import Placed, Splitter

# Han and kana are written without spaces, so every character is a word, as in BERT's tokenizer.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Scripts with spaces whose marks are letters in their own right: Thaana, Devanagari to Sinhala.
_MARKED = range(0x780, 0x7C0), range(0x900, 0xE00)


def _letters(run: str) -> Iterator[Placed]:
    yield 0, len(run), run


def _bare(word: str) -> tuple[int, int]:
    """Leave out possessive 's, so "it's" and "python's" both lose it."""
    return 0, len(word.removesuffix("'s"))


@cache
def stop_words() -> frozenset[str]:
    """Return the English function words that words and lemmas leave out and word pieces keep."""
    text = package_text(Path(__file__).with_name("stopwords.txt"))
    return frozenset(text.split())


def _letter() -> str:
    return rf"[^\W_{_CJK}][{ACCENTS}{marks(*_MARKED)}]*"


SPLITTER = Splitter(
    _letter,
    f"(?=[^\\W_])[{_CJK}][{VOICED}]*",
    _letters,
    _bare,
    lambda mark: mark in VOICED or any(ord(mark) in block for block in _MARKED),
    stop_words(),
)


def words(text: str) -> list[str]:
    """Split a text into words in lower case, without accents and without possessive ``'s``.

    >>> words("Café's str_replace(x) — don't!")
    ['cafe', 'str', 'replace', 'str_replace', 'x', "don't"]
    >>> words("getUserName in C++ 2.0")
    ['get', 'user', 'name', 'getusername', 'in', 'c', 'c++', '2', '0', '2.0']
    """
    return SPLITTER.words(text)


def placed_words(text: str) -> Iterator[Placed]:
    """Yield every word of a text with its character positions: (begin, end, word).

    >>> list(placed_words("Café's x.y"))
    [(0, 6, 'cafe'), (7, 8, 'x'), (9, 10, 'y'), (7, 10, 'x.y')]
    """
    return SPLITTER.placed(text)


def word_places(text: str, tokens: Iterable[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """Return the place of each token's word in a text, or None for punctuation.

    A token belongs to the word of its first letter or digit. Some tokenizers let a token begin at
    the space before it.

    >>> word_places("a spreadsheet.", [(0, 1), (1, 8), (8, 13), (13, 14)])
    [(0, 1), (2, 13), (2, 13), None]

    Args:
        text: any text.
        tokens: the characters of each token, (begin, end).
    """
    words: list[tuple[int, int]] = []
    for begin, end, _ in placed_words(text):
        if not words or begin >= words[-1][1]:  # a whole begins before its last part
            words.append((begin, end))
    begins = [begin for begin, _ in words]
    places: list[tuple[int, int] | None] = []
    for begin, end in tokens:
        first = next((at for at in range(begin, end) if text[at].isalnum()), None)
        at = -1 if first is None else bisect_right(begins, first) - 1
        inside = first is not None and at >= 0 and first < words[at][1]
        places.append(words[at] if inside else None)
    return places


def fold(text: str) -> str:
    """Lower the case, resolve compatibility forms, remove accents, replace ’ by '.

    >>> fold("ＦＵＬＬ naïve it’s Łódź x²")
    "full naive it's lodz x2"
    """
    return SPLITTER.fold(text)
