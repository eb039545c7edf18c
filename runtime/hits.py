"""The results of ranking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from ranklet.runtime.explanation import Explanation


class Timing(NamedTuple):
    """The time that a stage took, in milliseconds."""

    stage: str
    ms: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked document.

    Attributes:
        id: the document's id in the collection, or a caller's own text's id or index as a string.
        score: higher is better; comparable within one query only.
        title: may be empty.
        text: the document's text, without the title.
        index: number in the collection, or index among the caller's own texts.
        explanation: the score's explanation if it was requested; its parts add up to the score.
        passage: which passage of its document the text is, from 0; None if documents are whole.
    """

    id: str
    score: float
    title: str
    text: str
    index: int
    explanation: Explanation | None = None
    passage: int | None = None


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[Hit]):
    """The hits of one query, best first, and how they were computed.

    Attributes:
        hits: best first.
        query: the query's text.
        timings: milliseconds per stage, in order. The first stage that uses a ranker also opens it.
        providers: where each model of the pipeline ran, by ranker; lexical rankers have none.
        truncated: by ranker, how many texts (the query or the caller's documents) were truncated
            because they were longer than its model reads; empty if there were none.
        budget_spent: whether the call's `budget_ms` ended before the answer was ready.
        left_out: the stages that were skipped or did not score all candidates for lack of time.
    """

    hits: tuple[Hit, ...]
    query: str
    timings: tuple[Timing, ...]
    providers: Mapping[str, str] = field(default_factory=dict)
    truncated: Mapping[str, int] = field(default_factory=dict)
    budget_spent: bool = False
    left_out: tuple[str, ...] = ()

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
