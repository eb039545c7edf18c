"""What ranking answers with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from ranklet.runtime.explanation import Explanation


class Timing(NamedTuple):
    """How long a stage took."""

    stage: str
    ms: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked document.

    Attributes:
        id: the collection's document id; of the caller's own texts, their id or place as a string.
        score: higher is better; comparable within one query only.
        title: may be empty.
        text: the document's text, without the title.
        index: number in the collection, or place among the caller's own texts.
        explanation: where it was asked for; its parts add up to the score.
    """

    id: str
    score: float
    title: str
    text: str
    index: int
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[Hit]):
    """The hits of one query, best first, and how long they took.

    Attributes:
        hits: best first.
        query: the text that was asked.
        timings: milliseconds by stage, in order. A ranker that a stage is the first to use is
            opened by it.
        providers: what each model of the pipeline ran on, by ranker; none for lexical ones.
        truncated: by ranker, how many texts (the query, or documents of the caller) were longer
            than its model reads and were cut at the end; empty where none was.
        budget_spent: the call's `budget_ms` was over before the answer was ready.
        left_out: the stages that there was no time for, or that did not score all candidates.
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
