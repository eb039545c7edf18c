"""Split text into words at spaces and punctuation, in lower case and without accents."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources

# Runs of letters and digits. An apostrophe joins them (don't, o'neill). An underscore or a dot
# separates them (str_replace, os.path), because people search for the parts of an identifier.
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
# Han and kana are written without spaces, so every character is a word, as in BERT's tokenizer.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"(?=\w)[{_CJK}\U00020000-\U0003ffff]|(?:(?![{_CJK}])[^\W_])+(?:'(?:(?![{_CJK}])[^\W_])+)*"
)
# The same before folding, when combining accents still follow their letters and ’ may replace '.
_RUN = re.compile(
    rf"(?=\w)[{_CJK}\U00020000-\U0003ffff]"
    rf"|(?:(?![{_CJK}])[^\W_][\u0300-\u036f]*)+(?:['’][\u0300-\u036f]*(?:(?![{_CJK}])[^\W_][\u0300-\u036f]*)+)*"
)


def words(text: str) -> list[str]:
    """Split a text into words in lower case, without accents and without possessive ``'s``.

    >>> words("Café's str_replace(x) — don't!")
    ['cafe', 'str', 'replace', 'x', "don't"]
    >>> words("  ")
    []
    """
    # Nine texts in ten are ASCII, and folding a text costs five times as much.
    text = text.lower() if text.isascii() else fold(text)
    matches = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    if "'s" not in text:
        return matches
    # The possessive is removed after the match, so "it's" and "python's" both lose it.
    return [word[:-2] if word.endswith("'s") else word for word in matches]


def placed_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield every word of a text with its character positions: (begin, end, word).

    Runs are matched before they are folded, because folding moves characters. A run that folding
    splits gives several words at one position.

    >>> list(placed_words("Café's x"))
    [(0, 6, 'cafe'), (7, 8, 'x')]
    """
    for run in _RUN.finditer(text):
        for word in words(run[0]):
            yield run.start(), run.end(), word


def fold(text: str) -> str:
    """Lower the case, resolve compatibility forms, remove combining marks, replace ’ by '.

    >>> fold("ＦＵＬＬ naïve it’s 5 ㎒")
    "full naive it's 5 mhz"
    """
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    # Lower case comes last, because ㎒ has capitals only after it is resolved. NFKD splits Hangul
    # syllables and NFC joins them again.
    return unicodedata.normalize("NFC", bare.casefold())


@cache
def stop_words() -> frozenset[str]:
    """Return the English function words that words and lemmas leave out and word pieces keep."""
    text = resources.files(__package__).joinpath("stopwords.txt").read_text("utf-8")
    return frozenset(text.split())
