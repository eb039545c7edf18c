"""Words: what a text holds between spaces and punctuation, lower-cased and without accents."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources

# Runs of letters and digits; an apostrophe joins (don't, o'neill), an underscore or a dot parts
# (str_replace, os.path), because people ask for the parts of an identifier.
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
# Han and kana are written without spaces: one character a word, as BERT's tokenizer does it.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"(?=\w)[{_CJK}\U00020000-\U0003ffff]|(?:(?![{_CJK}])[^\W_])+(?:'(?:(?![{_CJK}])[^\W_])+)*"
)
# The same before folding: letters still carry their accents beside them, and ’ may stand for '.
_RUN = re.compile(
    rf"(?=\w)[{_CJK}\U00020000-\U0003ffff]"
    rf"|(?:(?![{_CJK}])[^\W_][\u0300-\u036f]*)+(?:['’][\u0300-\u036f]*(?:(?![{_CJK}])[^\W_][\u0300-\u036f]*)+)*"
)


def words(text: str) -> list[str]:
    """Split a text into words: lower case, accents off, possessive ``'s`` off.

    >>> words("Café's str_replace(x) — don't!")
    ['cafe', 'str', 'replace', 'x', "don't"]
    >>> words("  ")
    []
    """
    # Nine texts in ten are ASCII; folding the others costs five times as much.
    found = _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(fold(text))
    # The possessive is cut after the match: "it's" and "python's" both lose it.
    return [word[:-2] if word.endswith("'s") else word for word in found]


def placed_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield every word of a text with the characters it stands at: (begin, end, word).

    Runs are found before they are folded, since folding moves characters; a run that folding parts
    gives several words at one place.

    >>> list(placed_words("Café's x"))
    [(0, 6, 'cafe'), (7, 8, 'x')]
    """
    for run in _RUN.finditer(text):
        for word in words(run[0]):
            yield run.start(), run.end(), word


def fold(text: str) -> str:
    """Lower case, compatibility forms resolved, combining marks removed, ’ made '.

    >>> fold("ＦＵＬＬ naïve it’s 5 ㎒")
    "full naive it's 5 mhz"
    """
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    # Lower case comes after: ㎒ has capitals only once it is resolved. NFKD parts Hangul
    # syllables: NFC puts them together.
    return unicodedata.normalize("NFC", bare.casefold())


@cache
def stop_words() -> frozenset[str]:
    """Return the English function words that words and lemmas leave out (word pieces keep them)."""
    listed = resources.files(__package__).joinpath("stopwords.txt").read_text("utf-8")
    return frozenset(listed.split())
