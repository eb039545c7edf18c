"""The keywords of `rank` and `context` for type checkers; `make options` writes it."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from ranklet.runtime.asks import BoostLike, Facets, Where
from ranklet.runtime.pipelines.pipeline import PipelineLike


class ContextOptions(TypedDict, total=False):
    """The options of `ContextAsk`, of which `tokens` is an argument of its own."""

    where: Where | None
    pipeline: PipelineLike
    budget_ms: float | None
    min_score: float | None
    syntax: bool
    typos: bool
    synonyms: bool
    rules: bool
    boost: BoostLike | None
    hide: Sequence[str] | None
    fields: Mapping[str, float] | None
    unique: bool
    diversity: float | None
    relevance: bool
    min_relevance: float | None
    passages: int | None
    vector: Sequence[float] | None
    context: str | None


class RankOptions(ContextOptions, total=False):
    """The options of `Ask`."""

    k: int
    offset: int
    explain: bool
    group_by: str | None
    group_size: int
    pin: Sequence[str] | None
    facets: Facets | None
    sort: Sequence[str] | None
