"""Tune BM25: choose k1, b and perhaps the title boost on a grid, and then the weights of fields."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from time import monotonic

import numpy as np

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.evaluation.measures import Judged, mean, parse_measure
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.corpus.indexing.postings import Postings
from ranklet.corpus.indexing.wordpieces import read_tokenizer
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.options import plain_options
from ranklet.training.outcome import Lists, counts, describe_comparison
from ranklet.training.rankers.bm25.options import Options

ROUNDS = 2  # in which each field is weighed, because weights depend on each other
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
    untuned = BM25Settings(field, title_boost=options.title_boost, fields=options.fields)
    analysed = analyse(
        collection.documents(),
        [field],
        tokenizer=tokenizer,
        titles=options.titles,
        options=options.words,
        columns=untuned.columns,
        keep_metadata=bool(untuned.columns),
    )
    measured = _Measured(analysed, queries, options.measure)
    values = {}
    start = untuned.k1, untuned.b, untuned.title_boost
    points = list(product(options.k1_grid, options.b_grid, options.boosts))
    tried = points if start in points else [*points, start]
    for k1, b, boost in progress(tried, f"tuning BM25 over {field}"):
        values[k1, b, boost] = measured(replace(untuned, k1=k1, b=b, title_boost=boost))
    k1, b, boost = best = max(points, key=lambda point: values[point])
    tuned, value = replace(untuned, k1=k1, b=b, title_boost=boost), values[best]
    if tuned.fields:
        tuned, value = _tune_weights(tuned, value, measured, options.weight_grid)
    lists = Lists(options.measure, len(queries), values[start])
    return Checkpoint(
        "bm25",
        tuned,
        tokenizer=tokenizer if field == "wordpieces" else None,
        **analysed.list_words(field),
        training={
            "measure": options.measure,
            **counts(len(analysed.documents), queries, []),
            "seconds": round(monotonic() - began, 1),
            "best": value,
            "options": plain_options(options),
            **({"fields": dict(tuned.fields)} if tuned.fields else {}),
            "comparison": describe_comparison(lists, None, value, baseline="untuned BM25"),
            # The untuned settings may be the best, and then there is nothing to warn of.
            "warning": WORSE if value < values[start] else "",
            "grid": [
                {"k1": k1, "b": b, "title_boost": boost, "value": values[k1, b, boost]}
                for k1, b, boost in points
            ],
        },
    )


class _Measured:
    """Measures settings on judged queries; what is indexed is used again.

    Args:
        analysed: the collection.
        queries: the queries.
        measure: the measure's name.
    """

    def __init__(self, analysed: AnalysedCollection, queries: JudgedQueries, measure: str) -> None:
        self._analysed, self._goal = analysed, parse_measure(measure)
        begin = analysed.analyzer.begin
        self._contexts = [(each, QueryContext(each.text, begin())) for each in queries]
        self._postings = dict[float, Postings]()  # by title boost

    def __call__(self, settings: BM25Settings) -> float:
        """Return the mean of the measure."""
        boost = settings.title_boost
        if boost not in self._postings:
            self._postings[boost] = self._analysed.bm25_postings(settings)
        ranker = open_bm25(settings, self._postings[boost])
        rows, retrieved, missed = [], [], []
        for query, context in self._contexts:
            numbers, scores, _ = ranker.retrieve(context, self._goal.cutoff)
            retrieved_grades, missed_grades = grades(self._analysed, query, numbers)
            rows.append(scores[:, None])
            retrieved.append(retrieved_grades)
            missed.append(missed_grades)
        judged = Judged.from_lists(rows, retrieved, missed)
        return float(mean(judged, judged.scores(np.ones(1)), self._goal))


def _tune_weights(
    settings: BM25Settings,
    value: float,
    measured: Callable[[BM25Settings], float],
    grid: Sequence[float],
) -> tuple[BM25Settings, float]:
    """Return settings with better weights of fields, chosen one field after the other.

    Args:
        settings: where to begin.
        value: what they measure.
        measured: measures settings.
        grid: the weights that are tried.
    """
    names = list(settings.fields or ())
    for name in progress(names * (ROUNDS if len(names) > 1 else 1), "weighing fields"):
        for weight in grid:
            other = replace(settings, fields={**(settings.fields or {}), name: weight})
            if other != settings and (better := measured(other)) > value:
                settings, value = other, better
    return settings, value
