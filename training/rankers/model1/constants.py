"""Choose p_self and λ of a Model 1 that is fused with BM25, for any translation table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import Judged, mean, parse_measure, per_query
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.progress import EVALUATING, progress
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent
from ranklet.corpus.tuning.judged_candidates import Features, judge
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.model1 import (
    UNSEEN,
    TranslationTable,
    log_odds,
    translation_likelihoods,
)

P_SELF_GRID = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
LAMBDA_GRID = (0.005, 0.02, 0.1, 0.3)
GRID = tuple(product(P_SELF_GRID, LAMBDA_GRID))
CANDIDATES = 200  # candidates from BM25 per query for tuning
DEV_CANDIDATES = 50  # candidates from BM25 per query for an evaluation during training

# Returns the translations that a query needs, for its tokens and those of its candidates.
Tables = Callable[[NDArray[np.int32], NDArray[np.integer]], TranslationTable]


@dataclass(frozen=True)
class Tuned:
    """The constants that rank best.

    Attributes:
        p_self: T(t|t).
        lambda_: weight of the collection.
        bm25: the measure of BM25 alone on the same candidates.
        report: the measure at every point of the grid, for `Checkpoint.training`.
    """

    p_self: float
    lambda_: float
    bm25: float
    report: dict[str, Any]


def tune_constants(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    retriever: Retriever,
    likelihoods: "Likelihoods",
    measure: str,
) -> Tuned:
    """Choose the p_self and λ whose scores, fused with BM25's, rank best.

    Args:
        analysed: the collection, with the fields of both rankers.
        queries: judged queries that the table was not learned from; otherwise the table looks
            better than it is.
        retriever: the BM25 ranker that retrieves the candidates.
        likelihoods: scores of the table at all points of the grid.
        measure: the measure to maximise, such as MRR@10.
    """
    features = make_features(retriever, likelihoods)
    judged = judge(analysed, queries, retriever, CANDIDATES, features, "scoring candidates")
    values: dict[tuple[float, float], tuple[float, float]] = {}  # value and weight of Model 1
    grid = likelihoods.grid
    for at, point in enumerate(progress(grid, f"tuning Model 1 over {likelihoods.field}")):
        fusion = coordinate_ascent(only(judged, [0, at + 1]), measure, restarts=2)
        values[point] = fusion.value, fusion.weights[1]
    p_self, lambda_ = max(values, key=lambda point: values[point][0])
    report = {
        "measure": measure,
        "tuning_queries": len(queries),
        "best": values[p_self, lambda_][0],
        "grid": [
            {"p_self": p, "lambda": lam, "value": value, "weight": weight}
            for (p, lam), (value, weight) in values.items()
        ],
    }
    return Tuned(p_self, lambda_, _alone(judged, measure), report)


def evaluate_fusion(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    retriever: Retriever,
    likelihoods: "Likelihoods",
    measure: str,
) -> NDArray[np.float64]:
    """Return the measure of each query by the grid's first point, fused with BM25, (queries,).

    This is fast enough for a dozen evaluations during a training.
    """
    features = make_features(retriever, likelihoods)
    judged = judge(analysed, queries, retriever, DEV_CANDIDATES, features, EVALUATING)
    both = only(judged, [0, 1])
    weights = np.array(coordinate_ascent(both, measure, restarts=2).weights)
    return per_query(both, both.scores(weights), parse_measure(measure))


def bm25_value(
    analysed: AnalysedCollection, queries: Sequence[JudgedQuery], retriever: Retriever, measure: str
) -> float:
    """Return the measure of BM25 alone on the candidates of `evaluate_fusion`."""

    def features(query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        return retriever.score(query, candidates).values[:, None]

    judged = judge(analysed, queries, retriever, DEV_CANDIDATES, features, "BM25 of dev queries")
    return _alone(judged, measure)


def _alone(judged: Judged, measure: str) -> float:
    """Return the measure of ranking by the first feature."""
    return mean(judged, judged.features[:, :, 0], parse_measure(measure))


def make_features(retriever: Retriever, likelihoods: "Likelihoods") -> Features:
    """Return a function that computes BM25's scaled score and Model 1's at each grid point."""

    def features(query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        base = retriever.score(query, candidates).values * retriever.scale(query)
        return np.column_stack([base, *likelihoods.by_setting(query, candidates)])

    return features


class Likelihoods:
    """Model 1's scores of candidates at every point of the grid, from two passes.

    Σ T(q|d) P(d|D) is linear in p_self, so its values at 0 and at 1 give all others.

    Args:
        tables: returns the translations that a query needs.
        background: P(q|C) of each token, (tokens,) float32.
        field: lemmas, words or wordpieces.
        grid: points (p_self, λ) to score at.
    """

    def __init__(
        self,
        tables: Tables,
        background: NDArray[np.float32],
        field: str,
        grid: Sequence[tuple[float, float]] = GRID,
    ) -> None:
        self._tables, self._background, self.field, self.grid = tables, background, field, grid

    def by_setting(
        self, query: QueryContext, candidates: Candidates
    ) -> Iterable[NDArray[np.float32]]:
        """Yield scores divided by the number of query tokens, (candidates,) float32 per point."""
        tokens = query.tokens(self.field)
        documents = candidates.tokens(self.field)
        table = self._tables(tokens, documents.tokens)
        likelihood_0 = translation_likelihoods(tokens, table, 0.0, documents)
        likelihood_1 = translation_likelihoods(tokens, table, 1.0, documents)
        prior = np.full(len(tokens), UNSEEN, np.float32)
        known = tokens < len(self._background)
        prior[known] = self._background[tokens[known]]
        for p_self, lambda_ in self.grid:
            likelihood = p_self * likelihood_1 + (1 - p_self) * likelihood_0
            yield log_odds(likelihood, prior, lambda_).sum(0) / np.float32(max(1, len(tokens)))


def only(judged: Judged, features: list[int]) -> Judged:
    """Return the same candidates with only some of the features."""
    return replace(judged, features=np.ascontiguousarray(judged.features[:, :, features]))
