"""What forms of a word should have in common: their lemma, its stem, their stem, or nothing.

BM25 (k1 0.9, b 0.4) ranks by each of `NORMALISERS`. Nothing is tuned, so no judgement is seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.text.analysis import Analyzer
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.training.indexing.language.options import NORMALISERS, TextOptions
from ranklet.training.indexing.lemmas import vocabulary
from ranklet.training.indexing.postings import invert

PACKAGES = ("simplemma", "snowballstemmer")
MEASURES = ("nDCG@10", "MRR@10")
DEPTH = 10
BASE = "lemma"


@dataclass(frozen=True)
class Tried:
    """A collection and a split of its queries."""

    name: str
    split: str
    queries: int = 1_000  # at most


TRIED = (
    Tried("qa-mix", "dev"),
    Tried("medquad", "dev"),
    Tried("scifact", "test"),
    Tried("google-wiki", "dev"),
)

Values = Mapping[str, NDArray[np.float64]]  # by normaliser, one value per query, (queries,)


def run(place: Place) -> str:
    """Rank the queries of each collection by each normaliser."""
    rows = []
    for tried in TRIED:
        collection = place.collection(tried.name)
        queries = read_split(collection, tried.split, limit=tried.queries)
        analysed = analyse(
            collection.documents(), ["words"], options=TextOptions(normaliser="none")
        )
        forms, found = measured(analysed, queries)
        rows += _rows(f"{tried.name} {tried.split} ({len(queries):,})", forms, found)
    head = ["collection (queries)", "`--normaliser`", *MEASURES, "word forms in the table"]
    return f"""
{table(head, rows)}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction over the other \
three).
"""


def measured(
    analysed: AnalysedCollection, queries: list[JudgedQuery]
) -> tuple[dict[str, int], dict[str, Values]]:
    """Return the number of word forms by normaliser, and the values of queries by measure.

    Args:
        analysed: a collection in English, without lemmas.
        queries: judged queries.
    """
    words = analysed.forwards["words"]
    seen = list(analysed.analyzer.vocabulary.forms)
    sizes: dict[str, int] = {}
    values: dict[str, dict[str, NDArray[np.float64]]] = {name: {} for name in MEASURES}
    for method in NORMALISERS:
        found = vocabulary(seen, method=method)
        lemmas = np.array([found.lemma_of[found.forms.find(form)] for form in seen], np.int32)
        postings = invert(words.tokens, words.offsets, len(found), lemmas)
        bm25, analyzer = open_bm25(BM25Settings(), postings), Analyzer(found)
        features, grades, missed = [], [], []
        for query in queries:
            context = QueryContext(query.text, analyzer.begin())
            numbers, scores, _ = bm25.retrieve(context, DEPTH)
            ids = [analysed.documents.ids[number] for number in numbers.tolist()]
            features.append(scores[:, None])
            grades.append(np.array([query.relevant.get(each, 0) for each in ids]))
            others = [grade for each, grade in query.relevant.items() if each not in ids]
            missed.append(np.array(others))
        judged = Judged.from_lists(features, grades, missed)
        for name in MEASURES:
            scored = judged.scores(np.ones(1))
            values[name][method] = per_query(judged, scored, parse_measure(name))
        sizes[method] = len(found)
    return sizes, dict(values)


def _rows(where: str, sizes: Mapping[str, int], found: Mapping[str, Values]) -> list[list[str]]:
    others = [method for method in NORMALISERS if method != BASE]
    pairs = [(method, BASE) for method in others]
    signs = {
        name: {each.first: mark(each.p_holm) for each in compare(values, pairs=pairs)}
        for name, values in found.items()
    }
    return [
        [
            where,
            f"`{method}`",
            *(
                f"{found[name][method].mean():.4f}{signs[name].get(method, '')}"
                for name in MEASURES
            ),
            f"{sizes[method]:,}",
        ]
        for method in NORMALISERS
    ]
