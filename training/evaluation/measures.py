"""MRR, nDCG and recall over a padded matrix of candidates, fast enough for tuning loops.

A loop that tunes weights asks thousands of times "how good is this ranking?" of the same
candidates. Only the places of the relevant ones matter, and these are counted without sorting:
a candidate's rank is one more than the number of candidates ahead of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError

BLOCK_COMPARISONS = 1 << 20  # score comparisons at a time: 4 MB of float32 stay in the cache
MeasureName = Literal["MRR", "nDCG", "R"]


class Measure(NamedTuple):
    """A measure and its cutoff, as in "nDCG@10"."""

    name: MeasureName
    cutoff: int  # ranks counted, at least 1


def parse_measure(text: str) -> Measure:
    """Read "MRR@10", "nDCG@10", "R@100" and the like.

    Raises:
        InputError: If the name is unknown or the cutoff is no positive integer.
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
    """Candidates of some queries, their features, and what is known to be relevant.

    A relevant candidate has a grade above 0; the relevant_* arrays hold one entry for each.

    Attributes:
        features: (queries, candidates, features) float32; padding may hold any finite number.
        mask: (queries, candidates) bool, False where a query has fewer candidates.
        relevant_query: (relevant,) int64 row of each relevant candidate, ascending.
        relevant_column: (relevant,) int64 its column.
        relevant_grade: (relevant,) float64 its grade, above 0.
        ideal_grades: (queries, most relevant documents of a query) float64: the grades of all
            relevant documents, also of those that are no candidates; descending, padded with 0.

    Raises:
        InputError: If shapes disagree, a feature is not finite, or a relevant place is padding.
    """

    features: NDArray[np.float32]
    mask: NDArray[np.bool_]
    relevant_query: NDArray[np.int64]
    relevant_column: NDArray[np.int64]
    relevant_grade: NDArray[np.float64]
    ideal_grades: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.features.ndim != 3 or self.features.shape[:2] != self.mask.shape:
            raise InputError(
                "features must be (queries, candidates, features) and mask (queries, candidates); "
                f"got {self.features.shape} and {self.mask.shape}"
            )
        if len(self.mask) == 0 or len(self.ideal_grades) != len(self.mask):
            raise InputError(
                "ideal_grades needs a row for each query, and there must be a query; got "
                f"{len(self.ideal_grades)} rows and {len(self.mask)} queries"
            )
        if not np.isfinite(self.features).all():
            raise InputError("every feature must be a finite number; some are not")
        if not self.mask[self.relevant_query, self.relevant_column].all():
            raise InputError("a relevant candidate stands where the mask says padding")

    @classmethod
    def from_lists(
        cls,
        features: Sequence[NDArray[np.floating]],
        grades: Sequence[NDArray[np.number]],
        missed: Sequence[NDArray[np.number]] | None = None,
    ) -> "Judged":
        """Pad one array a query to the longest.

        Args:
            features: For each query an array (its candidates, features).
            grades: For each query the grades (its candidates,); unjudged candidates count as 0.
            missed: For each query the grades of its relevant documents that are no candidates;
                None if every query's candidates hold all.

        Raises:
            InputError: If the lists or the rows in them do not fit each other.
        """
        missed = [np.empty(0)] * len(features) if missed is None else missed
        if not len(features) == len(grades) == len(missed):
            raise InputError(
                "features, grades and missed need an entry for each query; got "
                f"{len(features)}, {len(grades)} and {len(missed)}"
            )
        widths = {row.shape[1:] for row in features}
        if len(widths) != 1 or len(next(iter(widths))) != 1:
            raise InputError(
                "there must be a query, and every query's features must be (candidates, features) "
                f"with the same number of features; got {sorted(widths)} behind the candidates"
            )
        if any(len(row) != len(grade) for row, grade in zip(features, grades, strict=True)):
            raise InputError("every candidate needs a grade, 0 where nothing is known")

        lengths = np.array([len(row) for row in features])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros((*mask.shape, *widths.pop()), np.float32)
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

    def scores(self, weights: NDArray[np.floating]) -> NDArray[np.float32]:
        """Weighted sums of the features: (queries, candidates) float32.

        Args:
            weights: (features,), rounded to float32, as the features are.
        """
        return self.features @ weights.astype(np.float32)

    def rank_of_relevant(self, scores: NDArray[np.floating]) -> NDArray[np.int64]:
        """The place of each relevant candidate among its query's candidates, from 1.

        Of equal scores the lower column comes first.

        Args:
            scores: (queries, candidates); what stands on padding is ignored.

        Returns:
            (relevant,) int64.

        Raises:
            InputError: If the shape is wrong or a relevant candidate's score is not a number.
        """
        if scores.shape != self.mask.shape:
            raise InputError(f"scores must be {self.mask.shape}, as the mask; got {scores.shape}")
        own = scores[self.relevant_query, self.relevant_column]  # (relevant,)
        if np.isnan(own).any():
            raise InputError("a relevant candidate's score is not a number")
        columns = np.arange(scores.shape[1])
        ranks = np.empty(len(own), np.int64)
        step = max(1, BLOCK_COMPARISONS // max(1, scores.shape[1]))
        for begin in range(0, len(own), step):
            here = slice(begin, begin + step)
            query, mine = self.relevant_query[here], own[here, None]
            others = scores[query]  # (relevant here, candidates)
            ahead = others > mine
            ahead |= (others == mine) & (columns < self.relevant_column[here, None])
            ranks[here] = 1 + np.count_nonzero(ahead & self.mask[query], axis=1)
        return ranks


def per_query(
    judged: Judged, scores: NDArray[np.floating], measure: Measure
) -> NDArray[np.float64]:
    """The measure's value for each query: (queries,) float64 in [0, 1].

    A query without a relevant document has 0, as in trec_eval.

    Args:
        judged: Candidates and judgments.
        scores: (queries, candidates); see `Judged.rank_of_relevant`.
        measure: What to compute.

    Raises:
        InputError: As `Judged.rank_of_relevant`.
    """
    ranks = judged.rank_of_relevant(scores)
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
    """The mean of `per_query` over all queries."""
    return float(per_query(judged, scores, measure).mean())


def discount(ranks: NDArray[np.integer]) -> NDArray[np.float64]:
    """1 / log2(rank + 1), ranks from 1 (Järvelin & Kekäläinen 2002, as trec_eval takes it)."""
    discounts: NDArray[np.float64] = 1 / np.log2(ranks + 1.0)
    return discounts


def ideal_dcg(ideal_grades: NDArray[np.float64], cutoff: int) -> NDArray[np.float64]:
    """DCG@cutoff of the best order, with the grade itself as gain: (queries,) float64.

    Args:
        ideal_grades: (queries, relevant documents) descending, padded with 0.
        cutoff: Ranks counted.
    """
    top = ideal_grades[:, :cutoff]
    ideal: NDArray[np.float64] = top @ discount(np.arange(1, top.shape[1] + 1))
    return ideal
