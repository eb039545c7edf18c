"""How likely a hit answers its query: a logistic model of numbers that every ranking has.

A score says which document is better, and not whether one is good. How far it lies above the scores
of other candidates does, and how much of the query a document has. Both are comparable between
queries and collections.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.shapes import list_parts, part, read_parts, several, to_plain, whole

DEPTH = 100  # best scores of a ranker that a hit's is compared with
NUMBERS = ("score", "distance", "lead")  # that `evidence` returns for each ranker
OF_ALL = ("length", "share")  # that stand before those of rankers
_TINY = 1e-12  # the least variance of scores
# A distance and a lead of more standard deviations, as of the only text with a word, say no more.
_MOST = np.array([np.inf, 7.0, 3.0])
MAX_CALIBRATIONS = 100  # a bound for hostile manifests
MAX_WEIGHT = 1e3


def evidence(
    scores: NDArray[np.float64], positions: NDArray[np.intp], *, padded: bool = False
) -> NDArray[np.float64]:
    """Return what a ranker's scores say of some candidates, (positions, `NUMBERS`).

    These are the score itself; its distance from the mean of the best `DEPTH` scores, in their
    standard deviations, at most 7; and its lead, which is the distance from the best score, or for
    the best candidate from the second, at most 3.

    Args:
        scores: of all candidates, scaled so that they are comparable, (candidates,).
        positions: of the candidates in question.
        padded: whether documents that are no candidates have the score 0, so that a few candidates
            stand out from these.

    >>> evidence(np.array([1.0, 3.0, 2.0]), np.array([1, 2])).round(2).tolist()
    [[3.0, 1.22, 1.22], [2.0, 0.0, -1.22]]
    """
    best = np.sort(scores)[-DEPTH:]
    count = DEPTH if padded else len(best)
    mean = float(best.sum()) / count
    spread = max(float(best @ best) / count - mean * mean, _TINY) ** 0.5
    first, own = best[-1], scores[positions]
    second = best[-2] if len(best) > 1 else 0.0 if padded else first
    numbers = np.empty((len(own), len(NUMBERS)))
    numbers[:, 0], numbers[:, 1], numbers[:, 2] = own, own - mean, own - first
    numbers[own == first, 2] = first - second
    numbers[:, 1:] /= spread
    return np.clip(numbers, -_MOST, _MOST)


def length(words: int) -> float:
    """Return the number that says how long a query of so many words is, without its stop words.

    >>> length(0), round(length(3), 2)
    (0.0, 1.39)
    """
    return log1p(words)


def share(amounts: NDArray[np.float32], contained: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how much of a query some documents have, from 0 to 1, (documents,).

    Args:
        amounts: what each of its words says, which is its idf, (words,); without words it is 0.
        contained: which words each document has, (documents, words).

    >>> share(np.array([3.0, 1.0]), np.array([[True, False], [True, True]])).tolist()
    [0.75, 1.0]
    """
    return np.asarray(contained @ amounts.astype(np.float64) / max(float(amounts.sum()), _TINY))


@dataclass(frozen=True)
class Calibration:
    """What makes a probability of a query's `length`, of `share` and of `evidence`.

    Attributes:
        rankers: the names of a pipeline's rankers, in the order of their use.
        weights: the constant, those of the query's length and of its share in the document, and one
            per ranker and number of `NUMBERS`.
        queries: judged queries that it was fitted on; 0 if it comes with ranklet.
    """

    rankers: tuple[str, ...] = part(several("names", lambda each: isinstance(each, str)))
    weights: tuple[float, ...] = part(
        several(
            f"numbers up to {MAX_WEIGHT:g}",
            lambda each: type(each) in (int, float) and abs(each) <= MAX_WEIGHT,
        )
    )
    queries: int = part(whole(), 0)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return to_plain(self)

    @classmethod
    def from_json(cls, raw: object, where: str) -> "Calibration":
        """Read and check a calibration.

        Raises:
            BundleError: it is none; the message contains `where`.
        """
        read = cls(**read_parts(list_parts(cls), raw, f"{where}."))
        if len(read.weights) != (count := 1 + len(OF_ALL) + len(NUMBERS) * len(read.rankers)):
            raise BundleError(f"{where}.weights must be {count} numbers, not {len(read.weights)}")
        return read


# Fitted on collections of questions, titles and claims, half of them without an answer, and on
# questions of other subjects
# (`python -m benchmarks relevance relevance_vectors`), by what a pipeline's rankers compare.
SHIPPED: Mapping[tuple[str, ...], tuple[float, ...]] = MappingProxyType(
    {
        ("words",): (-9.72, 1.603, 2.545, 2.5, 0.443, 0.446),
        ("vectors",): (-11.198, 1.958, 5.689, 0.0, 0.689, 0.344),
        ("words", "vectors"): (-8.089, 1.339, 2.736, 2.0, 0.079, 0.372, 0.0, 0.39, 0.247),
    }
)


def read_calibration(
    rankers: Sequence[str], compared: Sequence[str], own: Sequence[Calibration]
) -> Calibration | None:
    """Return what makes probabilities of a pipeline's scores; None if that is not known.

    Args:
        rankers: the names of the pipeline's rankers, in the order of their use.
        compared: what they compare, words or vectors.
        own: the calibrations of the bundle.
    """
    for each in own:
        if each.rankers == tuple(rankers):
            return each
    weights = SHIPPED.get(tuple(compared))
    return None if weights is None else Calibration(tuple(rankers), weights)


def chances(numbers: NDArray[np.float64], weights: Sequence[float]) -> NDArray[np.float64]:
    """Return 1 / (1 + e^−x) of x = constant + Σ weight · number, (candidates,).

    >>> chances(np.array([[0.0], [2.0], [1e9]]), (0.0, 1.0)).round(4).tolist()
    [0.5, 0.8808, 1.0]

    Args:
        numbers: the query's `length`, `share`, and `evidence` of all rankers side by side,
            (candidates, `OF_ALL` + rankers · `NUMBERS`).
        weights: as in `Calibration`.
    """
    logits = numbers @ np.array(weights[1:]) + weights[0]
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -50, 50))), np.float64)
