"""Find the words of a query in texts, in whatever form, and fast enough for all hits."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate

from ranklet.runtime.text.analysis import Analysis, Vocabulary
from ranklet.runtime.text.splitter import Splitter
from ranklet.runtime.text.words import placed_words

Places = list[tuple[int, int]]  # (begin, end) of words in a text
Run = tuple[int, str]  # where letters and digits in a row begin, and these

# Letters with their marks; not where several words begin, because the analysis tells them apart.
_MARK = r"[^\x00-\u02ff\u2010-\u2017\u201a-\u205e\s\w]"  # and no dash and no quote
_ASCII = bytes(range(128))
_SPACES = bytes(each if each > 127 or chr(each).isalnum() else 32 for each in range(256))
_USUAL, _SIGN, _ODD = range(3)  # kinds of characters: of words, between them, and see `_others`
_INSIDE = rf"[^\W_]|{_MARK}"
_SPACED = "\u0e00"  # the first letter of scripts without spaces, from Thai to Han
_CONTEXT = "\u0530"  # from here on, past Cyrillic, a letter's spelling depends on others
_SEARCHED = 4  # first letters of a word by which it is searched
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
        self._wanted = {name for _, _, name in own}
        written = {query[begin:end] for begin, end, _ in own}
        self._first = {_letter(each) for each in {word[:1] for word in (*self._wanted, *written)}}
        forms = set[str]().union(*(v.forms_in(self._wanted, self._first) for v in vocabularies))
        if splitter is not None:
            forms |= {word for each in written if _is_plain(each, word := each.lower(), splitter)}
        self._forms = {
            form
            for form in forms
            if form.isalnum() and (form.isascii() or max(form) < _CONTEXT)  # what is past it is odd
        }
        self._beginnings = list[str]()  # none of which begins with another
        for each in sorted({word.lower()[:_SEARCHED] for word in (*self._forms, *written)}):
            if not self._beginnings or not each.startswith(self._beginnings[-1]):
                self._beginnings.append(each)
        self._known = dict[str, Places]()  # the query's words in each run that was analysed

    def __call__(self, text: str) -> Places:
        """Return the places of the common words in a text, (begin, end), in their order."""
        found = None if self._splitter is None else self._search(text, self._splitter)
        places, runs = found or ([], _runs(text, 0, len(text)))
        if not (asked := [(at, run) for at, run in runs if self._may_be_asked(run)]):
            return sorted(places)
        if new := {run: None for _, run in asked if run not in self._known}:
            self._learn(list(new))
        by_run = {begin: [(begin, end)] for begin, end in places}
        by_run |= {at: [(at + a, at + b) for a, b in self._known[run]] for at, run in asked}
        return [place for _, every in sorted(by_run.items()) for place in every]

    def _search(self, text: str, splitter: Splitter) -> tuple[Places, list[Run]] | None:
        """Return where the forms of the query's words are, and the runs that must be analysed.

        If all runs must be, there is no answer.
        """
        lowered, odd = text.lower(), list[str]()
        if len(lowered) != len(text):
            return None
        if not text.isascii():
            signs, odd = _others(text, splitter)
            if len(odd) > _MANY:
                return None
            for each in signs:
                lowered = lowered.replace(each, " ")
        spaced, forms, places = _spaced(lowered), self._forms, Places()
        analysed = [at for each in odd for at in _places(text, each)]
        for beginning in self._beginnings:
            at = spaced.find(beginning)
            while at >= 0:
                end = at + 1
                if spaced[at - 1] == " ":
                    end = spaced.find(" ", end)
                    run = text[at:end]
                    if run in forms:
                        places.append((at, end))
                    elif run[1:] == (word := spaced[at:end])[1:] or _is_plain(run, word, splitter):
                        if word in forms:
                            places.append((at, end))
                    else:
                        analysed.append(at)
                elif text[at].isupper():  # a name in camel case
                    analysed.append(at)
                at = spaced.find(beginning, end)
        return places, list(_around(text, spaced, sorted(analysed))) if analysed else []

    def _may_be_asked(self, run: str) -> bool:
        return _letter(run) in self._first or (not run.isascii() and max(run) >= _SPACED)

    def _learn(self, runs: list[str]) -> None:
        """Analyse some runs, all in one text, because each call takes as long as some words."""
        begins = [0, *accumulate(len(run) + 1 for run in runs)]
        self._known.update((run, []) for run in runs)
        for begin, end, name in self._placed("\n".join(runs)):
            if name in self._wanted:
                at = bisect_right(begins, begin) - 1
                place = begin - begins[at], end - begins[at]
                if place not in self._known[runs[at]][-1:]:  # of another class of the same word
                    self._known[runs[at]].append(place)

    def _placed(self, text: str) -> Iterable[tuple[int, int, str]]:
        if self._analysis is None:
            return placed_words(text)
        return self._analysis.place_classes(text)


def _is_plain(run: str, lowered: str, splitter: Splitter) -> bool:
    """Return whether a run is one word, which is searched by its spelling in lower case."""
    capitals = run.isascii() and run.isupper() and lowered not in splitter.stopped
    return capitals or run[1:] == lowered[1:]


def _spaced(lowered: str) -> str:
    """Return a text with a space in place of each sign of ASCII, and one more at its end.

    >>> _spaced("a dough's end.")
    'a dough s end  '
    """
    spaced = lowered.encode("utf-8", "surrogatepass").translate(_SPACES)
    return f"{spaced.decode('utf-8', 'surrogatepass')} "


def _others(text: str, splitter: Splitter) -> tuple[list[str], list[str]]:
    """Return the characters past ASCII that are in no word, and those that are odd.

    Odd letters may be spelled otherwise, or depend on those beside.
    """
    others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    kinds = _kinds(splitter)
    every = [(each, kinds[each]) for each in {*others.decode("utf-8", "surrogatepass")}]
    return [char for char, kind in every if kind == _SIGN], [c for c, kind in every if kind == _ODD]


def _runs(text: str, begin: int, end: int) -> Iterator[Run]:
    """Yield the runs in a part of a text, each of which may be one of the query's words."""
    for each in _run(text.isascii()).finditer(text, begin, end):
        yield each.start(), each[0]


@cache
def _run(is_ascii: bool) -> re.Pattern[str]:
    return re.compile(r"[^\W_]+" if is_ascii else rf"[^\W_]+(?:{_MARK}+[^\W_]*)*")


class _Kinds(dict[str, int]):
    """What each character past ASCII is in a text, found out when it first occurs."""

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter

    def __missing__(self, char: str) -> int:
        found = self[char] = self._of(char)
        return found

    def _of(self, char: str) -> int:
        if not re.match(_INSIDE, char):
            return _SIGN
        # The lower case of Σ depends on what follows.
        odd = char >= _CONTEXT or char == "Σ" or self._splitter.fold(char) != char.lower()
        return _ODD if odd else _USUAL


@lru_cache(64)
def _kinds(splitter: Splitter) -> _Kinds:
    return _Kinds(splitter)


def _around(text: str, spaced: str, places: Iterable[int]) -> Iterator[Run]:
    """Yield the runs between the spaces around some places, which ascend; see `_spaced`."""
    end = 0
    for at in places:
        if at >= end:
            begin, end = spaced.rfind(" ", 0, at) + 1, spaced.find(" ", at)
            yield from _runs(text, begin, end)


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
