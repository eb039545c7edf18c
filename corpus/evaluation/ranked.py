"""Measure a ranked list against judgements, as trec_eval does.

Only the grades of the ranked documents count, in the order of their ranks, and those of all
relevant documents. A grade of 0 stands for a document that is not relevant or not judged.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError

LARGEST_CUT = 1_000_000  # in ranks

Grades = NDArray[np.float64]


def ndcg(grades: Grades, relevant: Grades) -> float:
    """Return the discounted gain, Σ grade / log2(rank + 1), as a share of the best possible one.

    Args:
        grades: the grade at each rank that counts, (ranks,).
        relevant: the grades of all relevant documents that fit there, descending.
    """
    return float(_gain(grades) / _gain(relevant))


def _gain(grades: Grades) -> float:
    return float((grades / np.log2(np.arange(2, len(grades) + 2))).sum())


def reciprocal_rank(grades: Grades, relevant: Grades) -> float:  # noqa: ARG001
    """Return 1 / rank of the first relevant document, 0 if there is none."""
    ranks = np.flatnonzero(grades)
    return 1 / (int(ranks[0]) + 1) if len(ranks) else 0.0


def average_precision(grades: Grades, relevant: Grades) -> float:
    """Return the mean of the precision at each relevant document; 0 for each that is missing."""
    ranks = np.flatnonzero(grades) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / len(relevant))


def recall(grades: Grades, relevant: Grades) -> float:
    """Return the share of the relevant documents that is found."""
    return np.count_nonzero(grades) / len(relevant)


def success(grades: Grades, relevant: Grades) -> float:  # noqa: ARG001
    """Return 1 if a relevant document is found, otherwise 0."""
    return float(grades.any())


_MEASURES: dict[str, Callable[[Grades, Grades], float]] = {
    "nDCG": ndcg,
    "MRR": reciprocal_rank,
    "RR": reciprocal_rank,
    "MAP": average_precision,
    "AP": average_precision,
    "R": recall,
    "P": lambda grades, _: np.count_nonzero(grades) / len(grades),
    "Success": success,
}
_ONLY_CUT = ("R", "P", "Success")  # they say nothing of all ranks


class RankedMeasure(NamedTuple):
    """A measure and how many ranks count.

    Attributes:
        name: of `_MEASURES`.
        cut: the number of ranks; None for all.
    """

    name: str
    cut: int | None

    def value(self, grades: Grades, relevant: Grades) -> float:
        """Return the measure of one query.

        Args:
            grades: the grade of each ranked document, best rank first, (ranks,).
            relevant: the grades of all relevant documents, descending, (relevant,); at least one.

        >>> parse_ranked("nDCG@10").value(np.array([0.0, 1.0]), np.array([1.0]))
        0.6309297535714575
        """
        if self.name == "P" and self.cut is not None:  # ranks without a document are misses
            grades = np.pad(grades[: self.cut], (0, max(0, self.cut - len(grades))))
        best = relevant[: self.cut] if self.name == "nDCG" else relevant
        return _MEASURES[self.name](grades[: self.cut], best)


def parse_ranked(text: str) -> RankedMeasure:
    """Read a measure such as "nDCG@10" or "AP".

    Raises:
        InputError: the name is unknown, or the cut is missing or too large.
    """
    match = re.fullmatch(rf"({'|'.join(_MEASURES)})(?:@([1-9][0-9]{{0,6}}))?", text)
    cut = int(match[2]) if match and match[2] else None
    if match is None or (cut is None and match[1] in _ONLY_CUT) or (cut or 1) > LARGEST_CUT:
        raise InputError(
            f"unknown measure {text[:40]!r}; the measures are nDCG@k, MRR@k (or RR), AP@k (or "
            "MAP), and R@k, P@k and Success@k, which need a k; k is from 1 to "
            f"{LARGEST_CUT:,}, such as nDCG@10"
        )
    return RankedMeasure(match[1], cut)
