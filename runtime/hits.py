"""The results of ranking, and of completing what is typed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, overload

import numpy as np

from ranklet.runtime.answers.plain import plain, plain_value, to_values
from ranklet.runtime.answers.snippet import excerpt
from ranklet.runtime.ground.frozen import frozen

if TYPE_CHECKING:
    from ranklet.runtime.answers.context import ContextSpan
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundles.location import Location
    from ranklet.runtime.bundles.manifest import Value

SNIPPET = 300  # characters
_SHOWN = 3  # hits in a repr
# What a hit of a collection reads when it is asked for.
_LATE = ("title", "text", "passage", "metadata", "location")
_OF_TEXT = ("title", "text", "snippet", "start", "end", "heading", "metadata", "spans")
_READ = 100_000  # characters of a text, among which its best part is looked for
_SHOWN_VALUE = 60  # characters of a value of the metadata on one line


class Completion(NamedTuple):
    """What a person may go on to type.

    Attributes:
        text: the whole query.
        field: ``title`` or the name of the field whose value it is; None if its last word is
            completed.
    """

    text: str
    field: str | None = None


class MissingWord(NamedTuple):
    """A word of a query that no hit has.

    Attributes:
        typed: as it stands in the query.
        lemma: what all of its forms have in common.
        documents: how many have it that may be seen; None if that is not known.
    """

    typed: str
    lemma: str
    documents: int | None


class Timing(NamedTuple):
    """The time that a stage took, in milliseconds."""

    stage: str
    ms: float


class Count(NamedTuple):
    """How many of the documents that match have a value.

    Attributes:
        value: the value; a pair for the values from the first one to before the second one, where
            None leaves an end open; None for documents without a value.
        count: of documents.
    """

    value: "Value | tuple[Value | None, Value | None] | None"
    count: int  # type: ignore[assignment]  # hides what a tuple has by that name

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, where dates are ISO 8601 strings."""
        return {"value": plain_value(self.value), "count": self.count}


def in_line(metadata: "Mapping[str, Value]") -> str:
    """Return metadata on one line for people, without what is empty; long values are shortened.

    >>> in_line({"tags": ["a", "b"], "year": 2024, "open": True, "place": ""})
    'tags: a, b · year: 2024 · open: true'
    """

    def shown(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        text = " ".join((", ".join(value) if isinstance(value, list) else text).split())
        return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"

    values = plain(metadata).items()
    return " · ".join(f"{name}: {shown(value)}" for name, value in values if value not in ("", []))


class _Late:
    """Where a hit's text is, and what finds words of the query in it, which no copy takes along."""

    __slots__ = ("_number", "_places", "_read")
    _places: Callable[[str], Sequence[tuple[int, int]]]
    _read: Callable[[str, int], Any]
    _number: int

    if not TYPE_CHECKING:  # so that names which do not exist stay errors of types

        def __getattr__(self, name: str) -> Any:
            """Read what the hit lacks so far, once."""
            if name not in _LATE:
                return object.__getattribute__(self, name)  # which raises AttributeError
            value = self._read(name, self._number)
            object.__setattr__(self, name, value)
            return value

    def matching(self, places: Callable[[str], Sequence[tuple[int, int]]]) -> Self:
        """Let snippets show the words of a query, whose places in a text a function returns."""
        object.__setattr__(self, "_places", places)  # hits are frozen for all others
        return self

    def places(self, text: str) -> Sequence[tuple[int, int]]:
        """Return where words of the query stand in a text, as (begin, end); of a copy nowhere."""
        places = getattr(self, "_places", None)
        return places(text) if places else ()


@dataclass(frozen=True, slots=True)
class Hit(_Late):
    """One ranked document.

    Title, text and metadata of a bundle's document are read when they are first asked for, also
    after the bundle was closed or replaced.

    Attributes:
        id: the document's id in the collection, or a caller's own text's id or index as a string.
        score: higher is better; comparable within one query only.
        title: the title, and the headings that a passage stands under; it may be empty.
        text: the document's text, without the title.
        index: number of the document in the collection, or index among the caller's own texts.
        explanation: the score's explanation if it was requested; its parts add up to the score.
        passage: which passage of its document the text is, from 1; None if the document is whole.
        metadata: the document's other fields, without those that it lacks: strings, numbers, flags,
            lists of strings, `datetime.date` and, in UTC, `datetime.datetime`.
        pinned: whether it is where it is because the caller or a rule for the query wants it there.
        folded: ids of the near duplicates that were left out, as far as they were looked for.
        relevance: the probability that it answers the query, 0 to 1; None if nobody asked.
        location: where the text stands in its document, as the bundle has it; None if the document
            is whole or that is not known.
        spans: more passages of its document, in their order and without repetition, as `rank` was
            asked for by `passages` and `context`.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("id", "score", "index")
    PERHAPS: ClassVar[tuple[str, ...]] = (
        "title", "text", "snippet", "passage", "start", "end", "heading", "metadata", "pinned",
        "folded", "relevance", "spans", "explanation",
    )  # fmt: skip

    id: str
    score: float
    title: str
    text: str
    index: int
    explanation: "Explanation | None" = field(default=None, repr=False)
    passage: int | None = None
    metadata: "Mapping[str, Value]" = field(default_factory=dict, hash=False)
    pinned: bool = False
    folded: tuple[str, ...] = ()
    relevance: float | None = None
    location: "Location | None" = None
    spans: "tuple[ContextSpan, ...]" = ()

    @classmethod
    def stored(
        cls,
        number: int,
        read: Callable[[str, int], Any],
        id_: str,
        score: float,
        index: int,
        explanation: "Explanation | None",
        *,
        pinned: bool = False,
    ) -> Self:
        """Return a hit that reads its title, text, passage and metadata when they are asked for.

        Args:
            number: the document's number.
            read: returns one of them by its name, and that number.
            id_: the attribute `id`.
            score: as the attribute, like all others.
            index: the document's number among those that may be seen.
            explanation: None if it was not requested.
            pinned: as the attribute.
        """
        hit, put = object.__new__(cls), object.__setattr__
        put(hit, "_number", number)
        put(hit, "_read", read)
        put(hit, "id", id_)
        put(hit, "score", score)
        put(hit, "index", index)
        put(hit, "explanation", explanation)
        put(hit, "pinned", pinned)
        put(hit, "folded", ())
        put(hit, "relevance", None)
        put(hit, "spans", ())
        return hit

    def folding(self, ids: Sequence[str]) -> None:
        """Let the hit, which nobody has seen so far, stand for near duplicates, too."""
        object.__setattr__(self, "folded", tuple(ids))

    def rated(self, relevance: float) -> Self:
        """Set how likely a new hit answers its query, and return it."""
        object.__setattr__(self, "relevance", relevance)
        return self

    def widened(self, spans: "Sequence[ContextSpan]") -> None:
        """Let the hit, which nobody has seen so far, have more passages of its document."""
        object.__setattr__(self, "spans", tuple(spans))

    @property
    def heading(self) -> tuple[str, ...]:
        """The headings that the passage stands under, the highest first, as far as known."""
        return () if self.location is None else self.location.heading

    @property
    def page(self) -> int | None:
        """The page, slide or chapter of a file that it is on, where documents are such."""
        from ranklet.runtime.answers.context import page_of  # with parts of documents

        return page_of(self.metadata)

    @property
    def start(self) -> int | None:
        """The first character of the text in its document's; None if that is not known."""
        if self.location is not None:
            return self.location.start
        return 0 if self.passage is None else None

    @property
    def end(self) -> int | None:
        """The character after the last one of the text; None if that is not known."""
        return None if self.start is None else self.start + len(self.text)

    @property
    def name(self) -> str:
        """The id, and the passage if the document is split, for people."""
        return self.id if self.passage is None else f"{self.id} · passage {self.passage}"

    @property
    def whole(self) -> str:
        """The title, the text and the texts of the metadata."""
        values = (each if isinstance(each, list) else [each] for each in self.metadata.values())
        return "\n".join(
            [self.title, self.text, *(v for each in values for v in each if isinstance(v, str))]
        )

    @property
    def snippet(self) -> str:
        """The part of the text with the most words of the query, on one line."""
        return self.excerpt(SNIPPET)

    def excerpt(self, characters: int) -> str:
        """Return the part of the text with the most words of the query, on one line.

        It is found when it is asked for. A copy of a hit shows the beginning of its text.

        Args:
            characters: the most that it has.
        """
        found = self.places(self.text[:_READ]) if len(self.text) > characters else ()
        return excerpt(self.text, found, characters)

    def to_dict(self, *, text: bool = True, explain: bool = True) -> dict[str, Any]:
        """Return plain values, without those that there are none of. Dates are ISO 8601 strings.

        Args:
            text: whether there are title, text, metadata, and what else is read of the document.
            explain: whether there is the explanation, if there is one.
        """
        without = () if explain else ("explanation",)
        if not text:
            return to_values(self, (*_OF_TEXT, *without))
        return to_values(self, without if self.location else ("start", "end", *without))


@frozen
class Ranking(Sequence[Hit]):
    """The hits of one query, best first, and how they were computed.

    A notebook shows it as a table with the matching words marked.

    Attributes:
        hits: best first.
        query: the query's text.
        timings: milliseconds per stage, in order. The first stage that uses a ranker also opens it.
        providers: where each model of the pipeline ran, by ranker; lexical rankers have none.
        truncated: for each ranker, how many texts (the query or the caller's documents) were
            truncated because they were longer than its model reads; empty if there were none.
        budget_spent: whether the call's `budget_ms` ended before the answer was ready.
        left_out: the stages that were skipped or did not score all candidates for lack of time.
        without: the rankers that took no part because the query has no vector for them, and why.
        marks: returns the characters of a hit that match the query, for the table; None in a copy.
        corrections: the word that was searched instead of each unknown word of the query.
        ignored: signs of the query that have no meaning, such as ``title:`` without a field title,
            and words, as typed, that its rankers over words leave out, because no index has stop
            words; no words if no ranker of the pipeline reads words. If nothing was
            found, words that only capitals or accents tell from stop words are among them.
        unknown: ids to pin or to hide that no document has.
        total: how many documents match; None unless facets or an order were asked for.
        exact: whether `total` and `facets` are of all documents that match. A retriever by vectors
            knows only its candidates, so there they are of these and of those with a word.
        facets: how often each field has each value in the documents that match, by field.
        suggestion: what may have been meant, if a word of the query is in no document; None if
            all are known, if nothing is like them, or if unknown words were replaced anyway.
        answerable: the probability that the best document answers the query, whether it is among
            the hits or not; None if nobody asked for relevance.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = (
        "query",
        "hits",
        "ms",
        "budget_spent",
        "left_out",
        "truncated",
    )
    PERHAPS: ClassVar[tuple[str, ...]] = (
        "corrections",
        "ignored",
        "unknown",
        "suggestion",
        "answerable",
        "without",
    )
    COUNTED: ClassVar[tuple[str, ...]] = ("total", "exact", "facets")  # if it was counted

    hits: tuple[Hit, ...]
    query: str
    timings: tuple[Timing, ...]
    providers: Mapping[str, str] = field(default_factory=dict, hash=False)
    truncated: Mapping[str, int] = field(default_factory=dict, hash=False)
    budget_spent: bool = False
    left_out: tuple[str, ...] = ()
    marks: "Callable[[Hit], Sequence[tuple[int, int]]] | None" = field(default=None, compare=False)
    corrections: Mapping[str, str] = field(default_factory=dict, hash=False)
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    total: int | None = None
    exact: bool = True
    facets: Mapping[str, tuple[Count, ...]] = field(default_factory=dict, hash=False)
    suggestion: str | None = None
    answerable: float | None = None
    without: tuple[str, ...] = ()

    def marking(self, marks: "Callable[[Hit], Sequence[tuple[int, int]]]") -> Self:
        """Let the table of the ranking, which nobody has seen so far, mark words, and return it."""
        object.__setattr__(self, "marks", marks)
        return self

    @property
    def ms(self) -> dict[str, float]:
        """Milliseconds per stage."""
        return {timing.stage: round(timing.ms, 3) for timing in self.timings}

    def counted(self) -> dict[str, Any]:
        """Return the total and the facets as plain values, as far as they were asked for."""
        if self.total is None:
            return {}
        found = {name: plain_value(getattr(self, name)) for name in self.COUNTED}
        return {name: value for name, value in found.items() if value != {}}

    def remarks(self) -> dict[str, Any]:
        """Return as plain values what a caller should know of the query, where there is any."""
        return to_values(self, self.ALWAYS)

    def to_dict(self, hits: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
        """Return plain values: the query, its hits, and how they were computed.

        Args:
            hits: the values of the hits, if they were made before.
        """
        shown = [hit.to_dict() for hit in self.hits] if hits is None else hits
        return {**to_values(self, ("hits",)), "hits": shown, **self.counted()}

    def to_json(self, **options: Any) -> str:
        """Return `to_dict` as JSON; options are those of json.dumps, such as ``indent=2``."""
        return json.dumps(self.to_dict(), **{"ensure_ascii": False, **options})

    def columns(self) -> dict[str, list[Any]]:
        """Return the hits as columns: rank, id, score, title, text, passage and each other field.

        A hit without a passage or a field has None there, and a column that no hit needs is left
        out. A field that is named like another column stands under ``metadata.NAME``.
        """
        made: dict[str, list[Any]] = {"rank": list(range(1, len(self.hits) + 1))}
        for name in ("id", "score", "title", "text", "passage"):
            made[name] = [getattr(hit, name) for hit in self.hits]
        if not any(made["passage"]):
            del made["passage"]
        own = {*made, "passage"}
        for name in dict.fromkeys(name for hit in self.hits for name in hit.metadata):
            column = f"metadata.{name}" if name in own else name
            made[column] = [hit.metadata.get(name) for hit in self.hits]
        return made

    def to_pandas(self) -> Any:
        """Return the hits as a DataFrame of pandas, a row each; see `columns`.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from ranklet.runtime.ground.extras import hint_packages

        with hint_packages():
            import pandas as pd
        if self.hits:
            return pd.DataFrame(self.columns())
        one = replace(self, hits=(Hit("", 0.0, "", "", 0),))  # for the types of its columns
        return pd.DataFrame(one.columns())[:0]

    def __repr__(self) -> str:
        best = ", ".join(f"{hit.id} ({hit.score:.4g})" for hit in self.hits[:_SHOWN])
        more = ", …" if len(self.hits) > _SHOWN else ""
        return (
            f"<Ranking of {self.query!r}: {len(self.hits)} hits{': ' if best else ''}{best}{more}>"
        )

    def _repr_html_(self) -> str:
        marks = self.marks or (lambda _: ())
        from ranklet.runtime.answers.display import Row, table

        rows = [Row(hit.name, hit.score, hit.title, hit.text, marks(hit)) for hit in self.hits]
        return table(self.query, rows, self.suggestion)

    def __reduce__(self) -> tuple[Any, ...]:
        # `marks` would open the bundle where the ranking is read, and show the address that it has.
        values = {each.name: getattr(self, each.name) for each in fields(self)} | {"marks": None}
        return Ranking, tuple(values.values())

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


def untie(hits: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return hits, ids and scores, with strictly descending scores, which trec_eval will read.

    trec_eval ignores ranks and orders equal scores by descending document id, so it would measure
    another ranking. Therefore each of several equal scores is one float32 step below the one before
    it. trec_eval does not distinguish smaller steps.

    >>> [score < 0.5 for _, score in untie([("a", 0.5), ("b", 0.5), ("c", 0.25)])]
    [False, True, True]
    """
    descending: list[tuple[str, float]] = []
    largest = np.float32(np.inf)
    for name, score in hits:
        single = min(np.float32(score), largest)
        descending.append((name, float(single)))
        largest = np.nextafter(single, np.float32(-np.inf))
    return descending
