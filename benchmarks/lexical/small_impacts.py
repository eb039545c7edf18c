"""What BM25 loses and gains by impacts in fewer bits: quality, time and size.

BM25 (k1 0.9, b 0.4) ranks by each of `IMPACT_TYPES`. Nothing is tuned, so no judgement is seen.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.intervals import Interval, difference, ratio
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from benchmarks.lexical.normalisers import TRIED, Tried
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.indexing.impacts import in_fewer_bits

PACKAGES = ("simplemma",)
MEASURE, DEPTH = "nDCG@10", 10
BASE = "float32"
ROUNDS = 3


class Asked(NamedTuple):
    """A judged query with its terms."""

    judged: JudgedQuery
    terms: NDArray[np.int32]
    counts: NDArray[np.float32]


def run(place: Place) -> str:
    """Rank the queries of each collection by impacts of each type."""
    rows = []
    for tried in TRIED:
        rows += _rows(place, tried)
    head = ["collection (queries)", "`--impacts`", MEASURE, f"{MEASURE} − {BASE}'s"]
    head += ["the same 10 hits", f"mean time ÷ {BASE}'s", "bytes per posting"]
    return f"""
{table(head, rows)}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction over the other \
two); 95 % intervals of the difference and of the ratio over queries. Time: {DEPTH} hits from the \
index alone, one thread, types take turns, the median of {ROUNDS} rounds per query. The document \
number of a posting takes 4 bytes.
"""


def stored(analysed: AnalysedCollection) -> dict[str, ImpactIndex]:
    """Return BM25's index of a collection by the type of its impacts."""
    settings = BM25Settings()
    exact = analysed.bm25_postings(settings).bm25(settings.k1, settings.b)
    return {name: in_fewer_bits(exact, name) for name in IMPACT_TYPES}


def asked(analysed: AnalysedCollection, queries: list[JudgedQuery]) -> list[Asked]:
    """Return queries with their terms that the index has."""
    found = []
    for query in queries:
        tokens = QueryContext(query.text, analysed.analyzer.begin()).tokens(BM25Settings().field)
        terms, counts = np.unique(tokens, return_counts=True)
        found.append(Asked(query, terms, counts.astype(np.float32)))
    return found


def quality(
    analysed: AnalysedCollection, index: ImpactIndex, queries: list[Asked]
) -> tuple[NDArray[np.float64], list[list[int]]]:
    """Return the measure of each query, (queries,), and the numbers of its hits."""
    features, grades, missed, hits = [], [], [], []
    for query, terms, counts in queries:
        numbers, scores = index.retrieve(terms, counts, DEPTH)
        ids = [analysed.documents.ids[number] for number in numbers.tolist()]
        hits.append(numbers.tolist())
        features.append(scores[:, None])
        grades.append(np.array([query.relevant.get(each, 0) for each in ids]))
        others = [grade for each, grade in query.relevant.items() if each not in set(ids)]
        missed.append(np.array(others))
    judged = Judged.from_lists(features, grades, missed)
    return per_query(judged, judged.scores(np.ones(1)), parse_measure(MEASURE)), hits


def _rows(place: Place, tried: Tried) -> list[list[str]]:
    collection = place.collection(tried.name)
    analysed = analyse(collection.documents(), ["lemmas"])
    queries = asked(analysed, read_split(collection, tried.split, limit=tried.queries))
    indexes = stored(analysed)
    found = {name: quality(analysed, index, queries) for name, index in indexes.items()}
    values = {name: each for name, (each, _) in found.items()}
    ms = take_turns({name: _searching(index) for name, index in indexes.items()}, queries, ROUNDS)
    others = [name for name in indexes if name != BASE]
    pairs = [(name, BASE) for name in others]
    signs = {each.first: mark(each.p_holm) for each in compare(values, pairs=pairs)}
    rows = []
    for name, index in indexes.items():
        same = [len(set(a) & set(b)) for a, b in zip(found[name][1], found[BASE][1], strict=True)]
        of_all = sum(len(each) for each in found[BASE][1])
        time = ratio(ms[name], ms[BASE])
        rows.append(
            [
                f"{tried.name} {tried.split} ({len(queries):,})",
                f"`{name}`",
                f"{values[name].mean():.4f}{signs.get(name, '')}",
                "" if name == BASE else _shown(difference(values[name], values[BASE])),
                f"{sum(same) / of_all:.2%}",
                f"{time.value:.2f} ({time.low:.2f} to {time.high:.2f})",
                str(4 + index.impacts.itemsize),
            ]
        )
    return rows


def _searching(index: ImpactIndex) -> Callable[[Asked], object]:
    return lambda query: index.retrieve(query.terms, query.counts, DEPTH)


def _shown(interval: Interval) -> str:
    return f"{interval.value:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})"
