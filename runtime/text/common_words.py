"""Find the words of a query in texts, in whatever form, and fast enough for all hits."""

import re
import unicodedata
from collections.abc import Callable

from ranklet.runtime.text.analysis import Analysis
from ranklet.runtime.text.words import placed_words

Places = list[tuple[int, int]]  # (begin, end) of words in a text

# Letters with their marks; not where several words begin, because the analysis tells them apart.
_RUN = re.compile(r"[^\W_](?:[^\W_]|[^\x00-\u02ff\s\w])*")
_SPACED = "\u0e00"  # the first letter of scripts without spaces, from Thai to Han


def common_words(query: str, analysis: Analysis | None) -> Callable[[str], Places]:
    """Return a function that returns the places of the words in a text that the query has, too.

    Only words that begin with the same letter as one of the query are analysed, and each of them
    once for all texts.

    Args:
        query: the query.
        analysis: finds classes of words; None to compare words as they are.

    >>> common_words("the Dough", None)("A dough and a loaf")
    [(2, 7)]
    """

    def placed(text: str) -> list[tuple[int, int, str]]:
        return list(placed_words(text) if analysis is None else analysis.placed(text, "lemmas"))

    asked = placed(query)
    names = {name for _, _, name in asked}
    first = {_letter(word) for begin, end, name in asked for word in (name, query[begin:end])}
    known: dict[str, Places] = {}

    def found(run: str) -> Places:
        if max(run) < _SPACED and _letter(run) not in first:
            return []
        return [(begin, end) for begin, end, name in placed(run) if name in names]

    def places(text: str) -> Places:
        every: Places = []
        for match in _RUN.finditer(text):
            run, at = match[0], match.start()
            if run not in known:
                known[run] = found(run)
            every += [(at + begin, at + end) for begin, end in known[run]]
        return every

    return places


def _letter(word: str) -> str:
    """Return the first letter of a word in lower case, without its accent."""
    return unicodedata.normalize("NFD", word[:1].lower())[:1]
