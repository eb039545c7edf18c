"""Make contexts of the passages that were found, and widen hits to what is around them."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.context import ContextSpan, page_of, source_of, written
from ranklet.runtime.asks import SECTION, Ask, ContextAsk
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.location import without_headings
from ranklet.runtime.call.candidates import list_numbers
from ranklet.runtime.search.filling import Filling, Piece, best_part, join_text, merged, split_list
from ranklet.runtime.search.run import Run
from ranklet.runtime.text.common_words import Places
from ranklet.runtime.text.sentences import count_words, sentences


class Stored(Protocol):
    """A search of documents that a bundle has."""

    files: BundleFiles

    @property
    def documents(self) -> Documents: ...  # noqa: D102

    def shown(self, name: str, number: int) -> Any: ...  # noqa: D102
    def fetch(self, numbers: NDArray[np.uint32], *, tokens: bool) -> None: ...  # noqa: D102


Count = Callable[[str], int]  # returns how many tokens a text has

_LEAST, _SHARE = 16, 20  # tokens that are worth filling, or one in so many of the budget
_WIDEST = 100  # passages around a hit


def around(documents: Documents, number: int, context: str | None) -> list[int]:
    """Return the passages around one, the nearest first.

    Args:
        documents: the documents.
        number: of the passage.
        context: `NEIGHBOURS` for those before and after it, `SECTION` for those under the same
            headings, or its neighbours where headings are not known; None for none.
    """
    if context is None or documents.first is None:
        return []
    own = documents.passages(int(documents.first[number]))
    first, last = int(own[0]), int(own[-1])
    heading = _heading(documents, number) if context == SECTION else ()

    def near(step: int) -> Iterator[int]:
        at = number + step
        while first <= at <= last and abs(at - number) <= _WIDEST:
            if heading and _heading(documents, at) != heading:
                return
            yield at
            if not heading:
                return
            at += step

    return sorted([*near(1), *near(-1)], key=lambda at: abs(at - number))


def _heading(documents: Documents, number: int) -> tuple[str, ...]:
    location = documents.location(number)
    return () if location is None else location.heading


class Spans:
    """Makes spans of passages.

    Args:
        search: has the documents.
        scores: of the passages that were found, best first.
        relevance: of these; nothing if nobody asked.
    """

    def __init__(
        self, search: Stored, scores: Sequence[float], relevance: Sequence[float] = ()
    ) -> None:
        self._search, self._scores, self._relevance = search, scores, relevance
        self._documents = search.documents
        self.shown = cache(search.shown)

    def piece(self, number: int, place: int | None) -> tuple[int, Piece]:
        """Return a passage with a number of its document, by which those that touch are joined.

        A passage that does not know where it stands is joined with no other one.
        """
        documents, text = self._documents, self.shown("text", number)
        location = documents.location(number)
        if location is None:
            whole = documents.place(number) is None
            return (number if whole else -1 - number), Piece(0, text, place=place)
        first = number if documents.first is None else int(documents.first[number])
        return first, Piece(location.start, text, location.before, location.heading, place)

    def label(self, document: int, piece: Piece) -> str:
        """Return what stands before a part of a document."""
        number = document if document >= 0 else -1 - document
        title, page = self._title(number), page_of(self.shown("metadata", number))
        named = source_of(self._documents.ids[number], title, piece.heading, page)
        return f"[1] {named}\n"

    def _title(self, number: int) -> str:
        return without_headings(self.shown("title", number), self._documents.location(number))

    def of(self, document: int, pieces: Sequence[Piece]) -> list[ContextSpan]:
        """Return the spans of a document, in its order."""
        return [self._span(document, group) for group in merged(pieces)]

    def _span(self, document: int, group: Sequence[Piece]) -> ContextSpan:
        number = document if document >= 0 else -1 - document
        known = document >= 0
        found = [each for each in group if each.place is not None]
        best = min(found, key=lambda each: each.place or 0) if found else group[0]
        place, text = best.place, join_text(group)
        return ContextSpan(
            self._documents.ids[number],
            self._title(number),
            text,
            group[0].start if known else None,
            group[0].start + len(text) if known else None,
            best.heading,
            None if place is None else self._scores[place],
            self._relevance[place] if place is not None and len(self._relevance) else None,
            self.shown("metadata", number),
        )


def gather_spans(
    search: Stored, run: Run, positions: NDArray[np.intp], ask: Ask
) -> Iterator[tuple[ContextSpan, ...]]:
    """Yield, for each hit, the best passages of its document, and what is around them.

    Args:
        search: has the documents.
        run: the pipeline that has run.
        positions: of the hits among the candidates.
        ask: says how many passages of a document, and what is around them.
    """
    documents, final = search.documents, run.execution.final()
    numbers, owners = list_numbers(run.execution.candidates), run.execution.candidates.owners
    for position in positions.tolist():
        own = np.array([position])
        if owners is not None:
            own = np.flatnonzero(owners == owners[position])
            own = own[np.argsort(-final[own], kind="stable")][: ask.passages or 1]
        spans = Spans(search, final[own].tolist())
        wanted = {number: place for place, number in enumerate(numbers[own].tolist())}
        for number in list(wanted):
            for near in around(documents, number, ask.context):
                wanted.setdefault(near, None)  # type: ignore[arg-type]
        search.fetch(np.array(sorted(wanted), np.uint32), tokens=False)
        pieces = dict[int, list[Piece]]()
        for number, place in sorted(wanted.items()):
            document, piece = spans.piece(number, place)
            pieces.setdefault(document, []).append(piece)
        yield tuple(span for document, each in pieces.items() for span in spans.of(document, each))


def filled(
    search: Stored, run: Run, ask: ContextAsk, count: Count, places: Callable[[str], Places]
) -> tuple[tuple[ContextSpan, ...], int, list[str]]:
    """Return spans that fit, how many tokens they have, and why there is none if none fits.

    The best passages are taken in turn, each with what is around it, without near duplicates of
    earlier ones. Of the first one that does not fit, the sentences are taken that do, and have the
    most words of the query; of a list, its best entries.

    Args:
        search: has the documents.
        run: the pipeline that has run.
        ask: what may be taken, and the budget.
        count: returns how many tokens a text has.
        places: returns where words of the query stand in a text.
    """
    documents, order, tokens = search.documents, run.best_passages(ask), ask.tokens
    numbers = list_numbers(run.execution.candidates)[order]
    relevance = run.relevance(order).tolist() if ask.rated else ()
    spans = Spans(search, run.execution.final()[order].tolist(), relevance)
    _fetch(search, numbers[: 1 + tokens // _LEAST], ask.context)
    filling, taken = Filling(count, tokens), dict[int, int]()
    least = max(_LEAST, tokens // _SHARE)
    for place, number in enumerate(numbers.tolist()):
        if filling.left < least and filling.documents:
            break
        if relevance and relevance[place] < (ask.min_relevance or 0):
            continue
        document, piece = spans.piece(number, place)
        owner = int(number if documents.first is None else documents.first[number])
        enough = ask.passages is not None and taken.get(owner, 0) >= ask.passages
        if enough or (ask.unique and filling.repeats(piece.text)):
            continue
        taken[owner] = taken.get(owner, 0) + 1
        label = spans.label(document, piece)
        if not filling.add(document, piece, label):
            for part in _parts(piece, filling.left - count(label), count, places):
                filling.add(document, part, label)
            break
        for near in around(documents, number, ask.context):
            if not filling.add(*spans.piece(near, None), label):
                break
    return _fitting(spans, filling, tokens, some=bool(len(numbers)))


def _fetch(search: Stored, numbers: NDArray[np.uint32], context: str | None) -> None:
    """Fetch at once what is likely to be read, if it lies far away."""
    if search.files.is_remote:
        near = [each for at in numbers.tolist() for each in around(search.documents, at, context)]
        search.fetch(np.append(numbers, np.array(near, np.uint32)), tokens=False)


def _parts(
    piece: Piece, room: int, count: Count, places: Callable[[str], Places]
) -> Iterator[Piece]:
    """Yield the entries of a list with words of the query, those with most first.

    Of another passage, or if no entry has one, yield the sentences that fit best.
    """
    text, found = piece.text, sorted(places(piece.text))
    begins, after, entries = [begin for begin, _ in found], 0, list[tuple[int, Piece]]()
    for begin, end in split_list(text):
        hits = bisect_left(begins, end) - bisect_left(begins, begin)
        part = Piece(piece.start + begin, text[begin:end], text[after:begin], *piece[3:])
        entries, after = [*entries, (hits, part)], end
    entries = sorted((each for each in entries if each[0]), key=lambda each: -each[0])
    yield from (part for _, part in entries)
    if not entries and (best := _part(piece, room, count, found)):
        yield best


def _part(piece: Piece, room: int, count: Count, places: Places) -> Piece | None:
    """Return the sentences of a passage that fit best; None if none does."""
    text = piece.text
    parts = [
        (begin, end, words if count is count_words else count(text[begin:end]))
        for begin, end, words in sentences(text)
    ]
    found = best_part(parts, places, room)
    if found is None:
        return None
    begin, end = found
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    kept = text[begin:end].rstrip()
    before = piece.before if not begin else ""
    return piece._replace(start=piece.start + begin, text=kept, before=before) if kept else None


def _fitting(
    spans: Spans, filling: Filling, tokens: int, *, some: bool
) -> tuple[tuple[ContextSpan, ...], int, list[str]]:
    while True:
        found = tuple(
            span
            for document, pieces in filling.documents.items()
            for span in spans.of(document, pieces)
        )
        size = filling.count(written(found)) if found else 0
        if size <= tokens:
            break
        filling.drop_last()
    if found or not some:
        return found, size, []
    return found, size, [f"no sentence of the best passage fits into {tokens:,} tokens; allow more"]
