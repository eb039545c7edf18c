"""Tuning BM25: k1 and b of one field, on a grid."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.measures import Judged, mean, parse_measure
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.progress import progress
from ranklet.training.tuning.judged_candidates import grades

# The range that published tunings fall into (Anserini's for MS MARCO: k1 .82 to 4.46, b .68 to .87;
# short passages want less of both); finer steps change nDCG@10 by less than its noise.
K1_GRID = (0.1, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 3.0)
B_GRID = (0.0, 0.2, 0.4, 0.6, 0.75, 0.9)


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    *,
    field: str = "lemmas",
    measure: str = "MRR@10",
    k1_grid: Sequence[float] = K1_GRID,
    b_grid: Sequence[float] = B_GRID,
) -> Checkpoint:
    """Choose the k1 and b that rank best.

    Args:
        analysed: the collection, with `field` among its fields.
        queries: judged queries; a thousand are plenty for two parameters.
        field: lemmas, words or wordpieces.
        measure: what counts as best, MRR@k, nDCG@k or R@k.
        k1_grid: values of k1 to try.
        b_grid: values of b to try.

    Returns:
        A checkpoint whose ``training`` holds the measure of every point of the grid.

    Raises:
        InputError: a measure or value that is not allowed.
    """
    goal = parse_measure(measure)
    postings = analysed.postings(field)
    parsed = [(each, QueryContext(each.text, analysed.analyzer.begin())) for each in queries]
    tried = {}
    points = list(product(k1_grid, b_grid))
    for k1, b in progress(points, f"tuning BM25 over {field}"):
        ranker = open_bm25(BM25Settings(field, k1, b), postings)
        rows, found, missed = [], [], []
        for judged_query, query in parsed:
            numbers, scores, _ = ranker.retrieve(query, goal.cutoff)
            hit, lost = grades(analysed, judged_query, numbers)
            rows.append(scores[:, None])
            found.append(hit)
            missed.append(lost)
        judged = Judged.from_lists(rows, found, missed)
        tried[k1, b] = mean(judged, judged.scores(np.ones(1)), goal)
    k1, b = max(tried, key=lambda point: tried[point])
    return Checkpoint(
        "bm25",
        BM25Settings(field, k1, b),
        tokenizer=analysed.analyzer.tokenizer if field == "wordpieces" else None,
        training={
            "measure": measure,
            "queries": len(queries),
            "best": tried[k1, b],
            "grid": [{"k1": k1, "b": b, "value": value} for (k1, b), value in tried.items()],
        },
    )
