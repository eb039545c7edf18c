"""How long counting, sorting and boosting all documents that match takes, and folding hits.

Fields are random, because google-wiki has none. What is counted and sorted is compared with plain
Python before anything is timed.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import take_turns
from ranklet import build, load
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import Bundle, Pipeline, Retrieve

PACKAGES = ()
QUERIES, CHECKED, ROUNDS = 200, 10, 3
MOST = 5.0  # ms that a query with two facets takes at p50
CODE = ("benchmarks/speed/facet_speed.py", "corpus/indexing", "export", "runtime/text")
PLAIN = "plain"
RANGES = {"year": {"ranges": [[1950, 1980], [1980, 2000], [2000, None]]}}
BOOST = {"year": {"log": True, "weight": 0.1}, "date": {"half_life": "1y", "weight": 0.2}}
ASKED: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "the number of matches": {"facets": []},
    "2 facets": {"facets": ["category", "year"]},
    "4 facets, of a date and of lists, too": {"facets": ["category", "year", "date", "tags"]},
    "3 ranges": {"facets": RANGES},
    'sort=["-date"]': {"sort": ["-date"]},
    'sort=["category", "score"]': {"sort": ["category", "score"]},
    "boosts by a number and a date": {"boost": BOOST},
    "unique=True": {"unique": True},
    "diversity=0.3": {"diversity": 0.3},
}


def run(place: Place) -> str:
    """Compare and time."""
    path = place.keep("facets.ranklet", partial(_build, place), CODE)
    collection = place.collection("google-wiki")
    queries = [each.text for each in collection.queries("dev")][:QUERIES]
    bundle = load(path)
    for query in queries[:CHECKED]:
        _compare(bundle, query)
    contenders: dict[str, Callable[[str], object]] = {
        name: partial(_ask, bundle, options) for name, options in ASKED.items()
    }
    took = take_turns(contenders, queries, ROUNDS)
    rows = []
    for name, ms in took.items():
        p50, p99 = np.percentile(ms, [50, 99])
        rows.append([name, f"{p50:.2f}", f"{p99:.2f}", f"{np.median(ms - took[PLAIN]):.2f}"])
    matches = np.median([bundle.rank(query, k=0, facets=[]).total for query in queries])
    head = ["query", "p50, ms", "p99, ms", "more than plain at p50, ms"]
    return f"""
Ten hits of {len(bundle):,} documents by BM25 for {len(queries)} dev queries, one thread, one \
after another. Documents are whole (`--passage-words 0`), because facets count documents; \
{matches:,.0f} documents match at p50, and all of them are counted or sorted. \
Facets and orders of {CHECKED} queries were equal to plain Python's.

{table(head, rows)}

{goal("a query with 2 facets at p50", float(np.median(took["2 facets"])), MOST)}
"""


def _ask(bundle: Bundle, options: dict[str, Any], query: str) -> object:
    return bundle.rank(query, **options)


def _fields(name: str) -> dict[str, Any]:
    """Return the metadata of a document; categories and tags are distributed as words are."""
    random = Random(name)  # noqa: S311  # no secret
    month, day = random.randint(1, 12), random.randint(1, 28)
    return {
        "category": f"c{int(40 ** random.random())}",
        "year": random.randint(1950, 2024),
        "date": f"20{random.randint(10, 24)}-{month:02}-{day:02}",
        "tags": sorted({f"t{int(500 ** random.random())}" for _ in range(random.randint(1, 4))}),
    }


def _build(place: Place, path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for each in place.collection("google-wiki").documents():
            yield {"id": each.id, "title": each.title, "text": each.text, **_fields(each.id)}

    build(rows(), path, source=SourceOptions(passage_words=0, overlap_words=0))


def _compare(bundle: Bundle, query: str) -> None:
    """Raise RuntimeError unless facets and order are those of a plain loop."""
    whole = Pipeline((Retrieve("bm25", len(bundle)),))
    ids = bundle.rank_ids(query, k=len(bundle), pipeline=whole)
    every = [(_fields(name), name) for name, _ in ids]
    found = bundle.rank(query, k=20, facets=["category", "tags"], sort=["-date"])
    counts = Counter(tag for fields, _ in every for tag in fields["tags"])
    tags = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]
    ordered = sorted(every, key=lambda each: each[0]["date"], reverse=True)
    right = [*map(tuple, found.facets["tags"])] == tags and found.total == len(every)
    if not right or [hit.id for hit in found] != [name for _, name in ordered[:20]]:
        raise RuntimeError(f"{query!r}: the facets or the order are not those of plain Python")
