"""Parts of documents that fit into a prompt, with what a citation of them says."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

from ranklet.runtime.answers.plain import to_values
from ranklet.runtime.bundles.location import with_headings
from ranklet.runtime.bundles.manifest import Value


def page_of(metadata: Mapping[str, Value]) -> int | None:
    """Return the page that a document's metadata say it is, if they do."""
    page = metadata.get("page")
    return page if isinstance(page, int) and type(page) is not bool else None


def source_of(id_: str, title: str, heading: Sequence[str], page: int | None) -> str:
    """Return what a citation says; see `ContextSpan.source`."""
    named = with_headings(" ".join(title.split()) or id_, heading)
    return named if page is None else f"{named}, page {page}"


@dataclass(frozen=True, slots=True)
class ContextSpan:
    """A part of a document, made of passages that follow each other.

    Attributes:
        id: the document's id.
        title: the document's; it may be empty.
        text: the characters `start` to `end` of the document's text, as `Bundle.document` has it.
        start: its first character there; None if that is not known.
        end: the character after its last one; None if that is not known.
        heading: the headings that it begins under, the highest first, as far as they are known.
        score: of its best passage; None if it has only neighbours of one.
        relevance: the probability that its best passage answers the query; None if nobody asked.
        metadata: the document's other fields.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("id", "title", "text")
    PERHAPS: ClassVar[tuple[str, ...]] = (
        "heading",
        "page",
        "start",
        "end",
        "score",
        "relevance",
        "metadata",
    )

    id: str
    title: str
    text: str
    start: int | None
    end: int | None
    heading: tuple[str, ...] = ()
    score: float | None = None
    relevance: float | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict, hash=False)

    @property
    def page(self) -> int | None:
        """The page, slide or chapter of a file that it is on, where documents are such."""
        return page_of(self.metadata)

    @property
    def source(self) -> str:
        """What a citation says: title or id, headings, and the page.

        >>> ContextSpan("d", "Bread", "…", 0, 1, ("Dough",), metadata={"page": 7}).source
        'Bread › Dough, page 7'
        """
        return source_of(self.id, self.title, self.heading, self.page)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without those that are not known. Dates are ISO 8601 strings."""
        return to_values(self)


@dataclass(frozen=True, slots=True)
class Context(Sequence[ContextSpan]):
    """Parts of documents for a query, which have no more tokens than were allowed.

    Attributes:
        query: the query's text.
        spans: the parts, those of the best document first, and of each in its order.
        tokens: how many tokens `text` has, as the bundle counts them.
        budget: how many were allowed.
        left_out: what was not done, and why, such as a budget too small for any passage.
        remarks: what `Ranking.remarks` says of the query.
        timings: milliseconds per stage, in order, as in `Ranking`.
        answerable: the probability that the best document answers the query; None if nobody asked.
        budget_spent: whether the call's `budget_ms` ended before the answer was ready.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = (
        "query", "text", "tokens", "budget", "spans", "ms", "budget_spent", "left_out",
    )  # fmt: skip
    PERHAPS: ClassVar[tuple[str, ...]] = ()

    query: str
    spans: tuple[ContextSpan, ...]
    tokens: int
    budget: int
    left_out: tuple[str, ...] = ()
    remarks: Mapping[str, Any] = field(default_factory=dict, hash=False)
    timings: Sequence[tuple[str, float]] = ()
    answerable: float | None = None
    budget_spent: bool = False

    @property
    def ms(self) -> dict[str, float]:
        """Milliseconds per stage."""
        return {stage: round(ms, 3) for stage, ms in self.timings}

    @property
    def text(self) -> str:
        """The spans for a prompt, each after a line with its number and its source."""
        return written(self.spans)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**to_values(self), **self.remarks}

    def to_json(self, **options: Any) -> str:
        """Return `to_dict` as JSON; options are those of json.dumps, such as ``indent=2``."""
        return json.dumps(self.to_dict(), **{"ensure_ascii": False, **options})

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, at: int) -> ContextSpan: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ContextSpan, ...]: ...
    def __getitem__(self, at: int | slice) -> ContextSpan | tuple[ContextSpan, ...]:
        return self.spans[at]

    def __iter__(self) -> Iterator[ContextSpan]:
        return iter(self.spans)


def written(spans: Sequence[ContextSpan]) -> str:
    r"""Return spans as a text, each after a line with its number and its source.

    >>> written([ContextSpan("d", "Bread", "Knead it.", 0, 9)])
    '[1] Bread\nKnead it.'
    """
    return "\n\n".join(f"[{at}] {each.source}\n{each.text}" for at, each in enumerate(spans, 1))
