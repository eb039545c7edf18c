"""Find out quickly that a text does not have some words in a row, before it is split into words."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ranklet.runtime.text.splitter import Splitter

# Combining marks, and scripts in which a letter's spelling depends on the letters beside it.
_DEPENDENT = "[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u2000-\u20cf\u2100-\u2bff]"
# Between two words: what a language adds to the first one, signs, what is elided before the second
# one, and the first letter of a name in camel case.
_BETWEEN = r"(?:['`]\w{1,13})?[\W_]*(?:\w{1,13}['`])?\w?"


class _Folding(dict[int, str]):
    """What each character becomes in a searchable text, found out when it first occurs."""

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter

    def __missing__(self, code: int) -> str:
        found = self[code] = self._splitter.fold(chr(code))
        return found


def make_searchable(text: str, splitter: Splitter) -> str | None:
    """Return a text without capitals and accents; None if these depend on other characters.

    Each word of it that has only letters and digits is a part of this.
    """
    if text.isascii():
        return text.lower()
    return None if re.search(_DEPENDENT, text) else text.translate(_folding(splitter))


def row_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern that a searchable text has if it has some words in a row, and perhaps else.

    >>> pattern = row_pattern(["python", "skin"])
    >>> [bool(pattern.search(each)) for each in ("a python's skin", "python bag, skin")]
    [True, False]

    Args:
        words: words in lower case without accents.

    Returns:
        None if a word has signs, depends on other characters, or may have the one before as a part.
    """
    if any(not each.isalnum() or re.search(_DEPENDENT, each) for each in words):
        return None
    if any(1 < len(part) < len(each) and part in each for part, each in pairwise(words)):
        return None  # as in camel case, where the parts of a name stand before it
    return re.compile(_BETWEEN.join(words))


@lru_cache(64)
def _folding(splitter: Splitter) -> _Folding:
    return _Folding(splitter)
