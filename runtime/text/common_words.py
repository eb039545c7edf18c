"""Find the words of a query in texts, in whatever form, and fast enough for all hits."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import accumulate

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

    own = placed(query)
    names = {name for _, _, name in own}
    first = {_letter(word) for begin, end, name in own for word in (name, query[begin:end])}
    known: dict[str, Places] = {}
    letter = cache(_letter)  # a text has few
    plain = _beginning_with("".join(filter(str.isascii, first)))

    def may_be_asked(run: str) -> bool:
        return letter(run[0]) in first or (not run.isascii() and max(run) >= _SPACED)

    def learn(runs: list[str]) -> None:
        """Analyse some runs, all in one text, because each call takes as long as some words."""
        begins = [0, *accumulate(len(run) + 1 for run in runs)]
        known.update((run, []) for run in runs)
        for begin, end, name in placed("\n".join(runs)):
            if name in names:
                at = bisect_right(begins, begin) - 1
                known[runs[at]].append((begin - begins[at], end - begins[at]))

    def places(text: str) -> Places:
        pattern = plain if text.isascii() else _RUN
        runs = [(each.start(), each[0]) for each in pattern.finditer(text)]
        new = {run for _, run in runs} - known.keys()
        if asked := [run for run in new if may_be_asked(run)]:
            learn(asked)
        return [(at + begin, at + end) for at, run in runs for begin, end in known.get(run, ())]

    return places


def _beginning_with(letters: str) -> re.Pattern[str]:
    """Return what finds those runs of an ASCII text that begin with one of some letters."""
    either = "".join(filter(str.isalnum, letters.lower() + letters.upper()))
    return re.compile(rf"(?<![^\W_])[{either}][^\W_]*" if either else "(?!)", re.ASCII)


def _letter(word: str) -> str:
    """Return the first letter of a word in lower case, without its accent."""
    return unicodedata.normalize("NFD", word[:1].lower())[:1]
