"""Rankings of some queries next to their judgements, and what queries share with others."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query


def judged_lists(
    queries: Sequence[JudgedQuery],
    found: Sequence[Sequence[str]],
    features: Sequence[NDArray[np.float32]],
) -> Judged:
    """Return candidates with their features and grades; relevant ones that lack count as missed.

    Args:
        queries: with their relevant documents.
        found: ids of each query's candidates.
        features: of each query's candidates, (candidates, features).
    """
    pairs = list(zip(queries, found, strict=True))
    return Judged.from_lists(
        features,
        [np.array([query.relevant.get(name, 0) for name in own]) for query, own in pairs],
        [
            np.array([grade for name, grade in query.relevant.items() if name not in set(own)])
            for query, own in pairs
        ],
    )


def values_of(
    queries: Sequence[JudgedQuery],
    found: Sequence[Sequence[str]],
    scores: Sequence[NDArray[np.float32]],
    measures: Sequence[str],
) -> dict[str, NDArray[np.float64]]:
    """Return each measure's value of each query, (queries,), by the order of some scores.

    Args:
        queries: with their relevant documents.
        found: ids of each query's candidates.
        scores: of each query's candidates, (candidates,) float32.
        measures: names such as MRR@10.
    """
    judged = judged_lists(queries, found, [each[:, None] for each in scores])
    return {
        measure: per_query(judged, judged.features[:, :, 0], parse_measure(measure))
        for measure in measures
    }


def sharing(queries: Sequence[JudgedQuery], others: Iterable[JudgedQuery]) -> NDArray[np.bool_]:
    """Return which queries share a relevant document with any of some others, (queries,) bool.

    >>> first, second = JudgedQuery("1", "", {"a": 1, "b": 1}), JudgedQuery("2", "", {"c": 1})
    >>> sharing([first, second], [JudgedQuery("3", "", {"b": 2})]).tolist()
    [True, False]
    """
    documents = {name for query in others for name in query.relevant}
    return np.array([not documents.isdisjoint(query.relevant) for query in queries])
