"""Find the words of a query in texts, in whatever form, and fast enough for all hits."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain

import numpy as np

from ranklet.runtime.text.analysis import Analysis, Vocabulary
from ranklet.runtime.text.splitter import Splitter
from ranklet.runtime.text.words import placed_words

Places = list[tuple[int, int]]  # (begin, end) of words in a text

# Letters with their marks; not where several words begin, because the analysis tells them apart.
_MARK = r"[^\x00-\u02ff\u2010-\u2017\u201a-\u205e\s\w]"  # and no dash and no quote
_NOT_ASCII = r"[^\x00-\x7f]+"
_INSIDE = rf"[^\W_]|{_MARK}"
_SPACED = "\u0e00"  # the first letter of scripts without spaces, from Thai to Han
_CONTEXT = "\u0530"  # from here on, past Cyrillic, a letter's spelling depends on others
_SEARCHED = 4  # first letters of a word by which it is searched
_LONGEST = 64  # letters of a word that is searched
_MANY = 32  # different odd letters of a text, all of which is looked at then


class CommonWords:
    """Returns the places of the words in a text that a query has, too.

    Only words that begin with the same letter as one of the query are analysed, and each of them
    once for all texts. Where the vocabularies of the texts are known, they say which forms the
    words of the query have, and a text is searched for these. Then only words with accents or
    further capitals are analysed.

    Args:
        query: the query.
        analysis: finds classes of words; None to compare words as they are.
        vocabularies: together they have every word of the texts; none if that is not sure.

    >>> CommonWords("the Dough", None)("A dough and a loaf")
    [(2, 7)]
    """

    def __init__(
        self, query: str, analysis: Analysis | None, vocabularies: Sequence[Vocabulary] = ()
    ) -> None:
        self._analysis = analysis
        self._splitter = splitter = vocabularies[0].splitter if vocabularies else None
        own = list(self._placed(query))
        self._wanted = {kind for _, _, kind in own}
        names = [] if analysis is None else analysis.spelled(np.array([*self._wanted], np.int32))
        self._first = {*map(_letter, names), *(_letter(query[begin:]) for begin, _, _ in own)}
        every = (v.forms_in(name, self._first) for v in vocabularies for name in names)
        written = {query[begin:end] for begin, end, _ in own}
        forms = {*chain.from_iterable(every)}
        if splitter is not None:
            forms |= {word for each in written if _is_plain(each, word := each.lower(), splitter)}
        self._known: dict[str, Places] = {
            form: [(0, len(form))]
            for form in forms
            if form.isalnum() and (form.isascii() or max(form) < _CONTEXT)  # what is past it is odd
        }
        self._beginnings = {each.lower()[:_SEARCHED] for each in (*self._known, *written)}

    def __call__(self, text: str) -> Places:
        """Return the places of the common words in a text, (begin, end), in their order."""
        runs, known = self._runs(text), self._known
        new = dict.fromkeys(run for _, run in runs if run not in known)
        if asked := [run for run in new if self._may_be_asked(run)]:
            self._learn(asked)
        return [(at + begin, at + end) for at, run in runs for begin, end in known.get(run, ())]

    def _runs(self, text: str) -> list[tuple[int, str]]:
        """Return where the runs of a text begin that may be words of the query, and the runs."""
        splitter, lowered = self._splitter, text.lower()
        if splitter is not None and len(lowered) == len(text):
            odd = set() if text.isascii() else _odd(text, splitter)
            if len(odd) <= _MANY:
                return self._search(text, lowered, odd, splitter)
        return [(each.start(), each[0]) for each in _run(text).finditer(text)]

    def _search(
        self, text: str, lowered: str, odd: Iterable[str], splitter: Splitter
    ) -> list[tuple[int, str]]:
        """Return the runs that are forms of the query's words, and those with odd letters."""
        found, others = dict[int, str](), [at for each in odd for at in _places(text, each)]
        known, pattern = self._known, _run(text)
        for beginning in self._beginnings:
            at = lowered.find(beginning)
            while at >= 0:
                before = text[at - 1 : at]
                if before.isalnum() or (before >= _CONTEXT and re.match(_INSIDE, before)):
                    if text[at].isupper():  # a name in camel case
                        others.append(at)
                elif match := pattern.match(text, at):
                    run, word = match[0], lowered[at : match.end()]
                    if run in known or not _is_plain(run, word, splitter):
                        found[at] = run
                    elif word in known:
                        found[at] = word
                at = lowered.find(beginning, at + 1)
        found.update(_beside(text, sorted(others)))
        return sorted(found.items())

    def _may_be_asked(self, run: str) -> bool:
        return _letter(run) in self._first or (not run.isascii() and max(run) >= _SPACED)

    def _learn(self, runs: list[str]) -> None:
        """Analyse some runs, all in one text, because each call takes as long as some words."""
        begins = [0, *accumulate(len(run) + 1 for run in runs)]
        self._known.update((run, []) for run in runs)
        for begin, end, kind in self._placed("\n".join(runs)):
            if kind in self._wanted:
                at = bisect_right(begins, begin) - 1
                place = begin - begins[at], end - begins[at]
                if place not in self._known[runs[at]][-1:]:  # of another class of the same word
                    self._known[runs[at]].append(place)

    def _placed(self, text: str) -> Iterable[tuple[int, int, Hashable]]:
        if self._analysis is None:
            return placed_words(text)
        return self._analysis.placed_classes(text)


def _is_plain(run: str, lowered: str, splitter: Splitter) -> bool:
    """Return whether a run is one word, which is searched by its spelling in lower case."""
    if run == lowered or run[1:] == lowered[1:]:
        return len(run) <= _LONGEST
    return run.isascii() and run.isupper() and lowered not in splitter.stopped


def _odd(text: str, splitter: Splitter) -> set[str]:
    """Return the letters of a text that may be spelled otherwise, or depend on those beside."""
    usual = _usual(splitter)
    new = set().union(*re.findall(_NOT_ASCII, text)) - usual
    odd = {each for each in new if _is_odd(each, splitter)}
    usual.update(new - odd)
    return odd


def _run(text: str) -> re.Pattern[str]:
    """Return the pattern of a run of a text, which may be one of the query's words."""
    return _run_of(text.isascii())


@cache
def _run_of(is_ascii: bool) -> re.Pattern[str]:
    return re.compile(r"[^\W_]+" if is_ascii else rf"[^\W_]+(?:{_MARK}+[^\W_]*)*")


@lru_cache(64)
def _usual(splitter: Splitter) -> set[str]:
    """Return the characters of which it is known that they are not odd; `_odd` adds to them."""
    del splitter
    return set()


def _is_odd(char: str, splitter: Splitter) -> bool:
    if not re.match(_INSIDE, char):
        return False
    # The lower case of Σ depends on what follows.
    return char >= _CONTEXT or char == "Σ" or splitter.fold(char) != char.lower()


def _beside(text: str, places: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the runs between the spaces around some places, which ascend."""
    end = 0
    for at in places:
        if at >= end:
            begin, end = text.rfind(" ", 0, at) + 1, text.find(" ", at)
            end = len(text) if end < 0 else end
            for each in _run(text).finditer(text, begin, end):
                yield each.start(), each[0]


def _places(text: str, part: str) -> Iterator[int]:
    """Yield where a part stands in a text.

    >>> list(_places("dough, doughs", "dough"))
    [0, 7]
    """
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _letter(word: str) -> str:
    """Return the first letter of a word in lower case, without its accent."""
    first = word[:1].lower()
    return first if first.isascii() else unicodedata.normalize("NFD", first)[:1]
