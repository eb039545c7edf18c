"""Rankings of some queries next to their judgements, and what queries share with others."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import parse_measure, per_query
from ranklet.corpus.tuning.judged_candidates import read_judged_lists


def list_values(
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
    judged = read_judged_lists(queries, found, [each[:, None] for each in scores])
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
