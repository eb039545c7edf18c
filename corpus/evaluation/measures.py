"""Compute MRR, nDCG and recall over a padded matrix of candidates, fast enough for tuning loops.

A loop that tunes weights measures thousands of rankings of the same candidates. Only the ranks of
the relevant candidates matter. They are counted without sorting, because a candidate's rank is one
more than the number of candidates ahead of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError

BLOCK_COMPARISONS = 1 << 20  # score comparisons per step, because 4 MB of float32 fit in the cache
MeasureName = Literal["MRR", "nDCG", "R"]


class Measure(NamedTuple):
    """A measure and its cutoff, as in "nDCG@10"."""

    name: MeasureName
    cutoff: int  # number of ranks that count, at least 1


def parse_measure(text: str) -> Measure:
    """Parse a measure such as "MRR@10", "nDCG@10" or "R@100".

    Raises:
        InputError: the name is unknown or the cutoff is not a positive integer.
    """
    match = re.fullmatch(r"(MRR|nDCG|R)@([1-9][0-9]*)", text)
    if match is None:
        raise InputError(
            f"unknown measure {text!r}; allowed are MRR@k, nDCG@k and R@k with an integer k ≥ 1, "
            "for example MRR@10"
        )
    return Measure(cast(MeasureName, match[1]), int(match[2]))


@dataclass(frozen=True, eq=False)
class Judged:
    """The candidates of some queries with their features and relevance judgements.

    A relevant candidate has a grade above 0. The relevant_* arrays hold one entry per relevant
    candidate.

    Attributes:
        features: (queries, candidates, features) float32; padding may hold any finite number.
        mask: (queries, candidates) bool, False where a query has fewer candidates.
        relevant_query: (relevant,) int64, the row of each relevant candidate, ascending.
        relevant_column: (relevant,) int64, its column.
        relevant_grade: (relevant,) float64, its grade, above 0.
        ideal_grades: (queries, most relevant documents of a query) float64, the grades of all
            relevant documents, candidates or not, descending and padded with 0.

    Raises:
        InputError: a feature is not finite.
    """

    features: NDArray[np.float32]
    mask: NDArray[np.bool_]
    relevant_query: NDArray[np.int64]
    relevant_column: NDArray[np.int64]
    relevant_grade: NDArray[np.float64]
    ideal_grades: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not np.isfinite(self.features).all():
            raise InputError("every feature must be a finite number; some are not")

    @classmethod
    def from_lists(
        cls,
        features: Sequence[NDArray[np.floating]],
        grades: Sequence[NDArray[np.number]],
        missed: Sequence[NDArray[np.number]] | None = None,
    ) -> "Judged":
        """Pad one array per query to the longest.

        Args:
            features: each query's features, an array (its candidates, features).
            grades: the grades of each query's candidates, (its candidates,); unjudged ones have
                grade 0.
            missed: the grades of each query's relevant documents that are not candidates; None if
                there are none.

        Raises:
            InputError: there is no query.
        """
        if not features:
            raise InputError("there is no judged query to measure on; give at least one")
        missed = [np.empty(0)] * len(features) if missed is None else missed

        lengths = np.array([len(row) for row in features])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros((*mask.shape, *features[0].shape[1:]), np.float32)
        padded[mask] = np.concatenate(features)
        grade = np.zeros(mask.shape)
        grade[mask] = np.concatenate(grades)
        query, column = np.nonzero(grade > 0)
        ideal = [np.sort(np.append(g, m))[::-1] for g, m in zip(grades, missed, strict=True)]
        ideal = [row[row > 0] for row in ideal]
        ideal_grades = np.zeros((len(ideal), max(len(row) for row in ideal)))
        for row, values in zip(ideal_grades, ideal, strict=True):
            row[: len(values)] = values
        return cls(padded, mask, query, column, grade[query, column], ideal_grades)

    def rows(self, queries: NDArray[np.integer]) -> "Judged":
        """Return the candidates of some queries, given by their numbers in ascending order."""
        kept = np.isin(self.relevant_query, queries)
        return Judged(
            self.features[queries],
            self.mask[queries],
            np.searchsorted(queries, self.relevant_query[kept]),
            self.relevant_column[kept],
            self.relevant_grade[kept],
            self.ideal_grades[queries],
        )

    def scores(self, weights: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the weighted sums of the features, (queries, candidates) float32."""
        return self.features @ weights.astype(np.float32)

    def first_relevant_rank(self, scores: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the rank of each relevant candidate in its query, from 1, (relevant,) int64.

        If scores, (queries, candidates), are equal, the lower column ranks first. Scores on padding
        are ignored.
        """
        own = scores[self.relevant_query, self.relevant_column]  # (relevant,)
        columns = np.arange(scores.shape[1])
        ranks = np.empty(len(own), np.int64)
        step = max(1, BLOCK_COMPARISONS // max(1, scores.shape[1]))
        for begin in range(0, len(own), step):
            block = slice(begin, begin + step)
            query, mine = self.relevant_query[block], own[block, None]
            others = scores[query]  # (relevant in the block, candidates)
            ahead = others > mine
            ahead |= (others == mine) & (columns < self.relevant_column[block, None])
            ranks[block] = 1 + np.count_nonzero(ahead & self.mask[query], axis=1)
        return ranks


def per_query(
    judged: Judged, scores: NDArray[np.floating], measure: Measure
) -> NDArray[np.float64]:
    """Return the measure's value of each query, (queries,) float64 in [0, 1].

    The value of a query without a relevant document is 0, as in trec_eval. Scores and errors are
    those of `Judged.first_relevant_rank`.
    """
    ranks = judged.first_relevant_rank(scores)
    counted = ranks <= measure.cutoff
    query, ranks = judged.relevant_query[counted], ranks[counted]
    if measure.name == "MRR":
        best = np.zeros(len(judged.mask))
        np.maximum.at(best, query, 1 / ranks)
        return best
    if measure.name == "nDCG":
        gains = judged.relevant_grade[counted] * discount(ranks)
        ideal = ideal_dcg(judged.ideal_grades, measure.cutoff)
    else:
        gains = np.ones(len(ranks))
        ideal = np.count_nonzero(judged.ideal_grades, axis=1).astype(np.float64)
    reached = np.bincount(query, weights=gains, minlength=len(judged.mask))
    return np.divide(reached, ideal, out=np.zeros_like(ideal), where=ideal > 0)


def mean(judged: Judged, scores: NDArray[np.floating], measure: Measure) -> float:
    """Return the mean of `per_query` over all queries."""
    return float(per_query(judged, scores, measure).mean())


def discount(ranks: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return 1 / log2(rank + 1), ranks from 1 (Järvelin & Kekäläinen 2002, as in trec_eval)."""
    discounts: NDArray[np.float64] = 1 / np.log2(ranks + 1.0)
    return discounts


def ideal_dcg(ideal_grades: NDArray[np.float64], cutoff: int) -> NDArray[np.float64]:
    """Return DCG@cutoff of the best order, with the grades as gains, (queries,) float64."""
    top = ideal_grades[:, :cutoff]
    ideal: NDArray[np.float64] = top @ discount(np.arange(1, top.shape[1] + 1))
    return ideal
