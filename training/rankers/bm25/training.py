"""Tune BM25: choose k1, b and perhaps the title boost of one field on a grid."""

from dataclasses import replace
from itertools import product
from time import monotonic

import numpy as np

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.evaluation.measures import Judged, mean, parse_measure
from ranklet.corpus.indexing.analysed import analyse, open_bm25
from ranklet.corpus.indexing.wordpieces import read_tokenizer
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.options import recorded
from ranklet.training.outcome import Lists, comparison_of, counts
from ranklet.training.rankers.bm25.options import Options

WORSE = "the untuned settings rank better than the whole grid; extend k1_grid and b_grid"


def train(
    collection: Collection,
    queries: JudgedQueries,
    dev: JudgedQueries,  # noqa: ARG001 (every kind has it)
    options: Options,
) -> Checkpoint:
    """Choose the k1 and b that rank the queries best; a thousand are enough for two parameters.

    The checkpoint's ``training`` has the measure at every point of the grid. `dev` is not used.

    Raises:
        InputError: the tokenizer cannot be read.
    """
    began, field = monotonic(), options.field
    tokenizer = read_tokenizer(options.tokenizer) if options.tokenizer else None
    analysed = analyse(
        collection.documents(),
        [field],
        tokenizer=tokenizer,
        titles=options.titles,
        options=options.words,
    )
    goal = parse_measure(options.measure)
    untuned = BM25Settings(field, title_boost=options.title_boost)
    contexts = [(query, QueryContext(query.text, analysed.analyzer.begin())) for query in queries]
    values = {}
    start = untuned.k1, untuned.b, untuned.title_boost
    points = list(product(options.k1_grid, options.b_grid, options.boosts))
    tried = points if start in points else [*points, start]
    postings = {
        boost: analysed.bm25_postings(replace(untuned, title_boost=boost))
        for boost in dict.fromkeys(boost for *_, boost in tried)
    }
    for k1, b, boost in progress(tried, f"tuning BM25 over {field}"):
        ranker = open_bm25(replace(untuned, k1=k1, b=b, title_boost=boost), postings[boost])
        rows, retrieved, missed = [], [], []
        for query, context in contexts:
            numbers, scores, _ = ranker.retrieve(context, goal.cutoff)
            retrieved_grades, missed_grades = grades(analysed, query, numbers)
            rows.append(scores[:, None])
            retrieved.append(retrieved_grades)
            missed.append(missed_grades)
        judged = Judged.from_lists(rows, retrieved, missed)
        values[k1, b, boost] = mean(judged, judged.scores(np.ones(1)), goal)
    k1, b, boost = best = max(points, key=lambda point: values[point])
    lists = Lists(options.measure, len(queries), values[start])
    return Checkpoint(
        "bm25",
        replace(untuned, k1=k1, b=b, title_boost=boost),
        tokenizer=tokenizer if field == "wordpieces" else None,
        **analysed.words_of(field),
        training={
            "measure": options.measure,
            **counts(len(analysed.documents), queries, []),
            "seconds": round(monotonic() - began, 1),
            "best": values[best],
            "options": recorded(options),
            "comparison": comparison_of(lists, None, values[best], baseline="untuned BM25"),
            # The untuned settings may be the best, and then there is nothing to warn of.
            "warning": WORSE if values[best] < values[start] else "",
            "grid": [
                {"k1": k1, "b": b, "title_boost": boost, "value": values[k1, b, boost]}
                for k1, b, boost in points
            ],
        },
    )
