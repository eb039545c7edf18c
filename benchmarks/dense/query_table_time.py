"""What a query costs by words, with a table of vectors for queries, and with its network.

Milliseconds of a query are of a processor, so others on the machine hardly change them, and first
answers are the soonest of some, from the start of a process. Tables learned from the documents of
their collection; see `query_table`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from benchmarks.dense.query_table import compared, with_table
from benchmarks.footprint.cold_start import NUMPY, OURS, QUIET
from benchmarks.fusion.collections import BM25, Compared, bundle_of, model_of, queries_of
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.building.default_pipelines import QUICK_DENSE_DEPTH, QUICK_DEPTH, SUM
from ranklet.runtime.rankers.opening import open_ranker

if TYPE_CHECKING:
    from ranklet.runtime.rankers.dense import Dense

PACKAGES = ("onnxruntime", "tokenizers")
TIMED = ("google-wiki", "scifact")
STARTS, ROUNDS, ASKED = 9, 15, 100
WORDS, TABLE, NETWORK = "BM25", "BM25 + table", "BM25 + network"
LEAST = "least"
MOST_TIME, MOST_MORE = 1.15, 30.0  # times that of words, and ms beyond their first answer
MS, REQUESTS = 0.0288, 0.20  # dollars of a million ms of 1,769 MB on x86, and of a million requests
LAMBDA = f"""{NUMPY}
import json, os
os.environ["RANKLET_BUNDLE"] = path
from ranklet.handlers.aws_lambda import handler
lap("import")
body = json.dumps({{"query": text, "k": 10, "pipeline": pipeline}})
event = {{"version": "2.0", "rawPath": "/rank", "requestContext": {{"http": {{"method": "POST",
    "path": "/rank"}}}}, "headers": {{"content-type": "application/json"}}, "rawQueryString": "",
    "isBase64Encoded": False, "body": body}}
found = handler(event, None)
lap("first query")
answer["modules"], answer["hits"] = sorted(sys.modules), len(json.loads(found["body"])["hits"])
"""


@dataclass(frozen=True)
class Found:
    """What was measured of a collection, by system."""

    passages: int
    ms: Mapping[str, float]  # of a processor, for a query
    first: Mapping[str, float]  # ms of the first answer of a process
    function: Mapping[str, float]  # and of a Lambda function's


def run(place: Place) -> str:
    """Time the systems in turns on the queries of each collection."""
    found = dict[str, Found]()
    for each in (each for each in compared() if each.name in TIMED):
        try:
            found[each.name] = _collection(place, each)
        except MissingDataError as missing:
            print(f"{each.name}: {missing}")
    return f"{costs(found)}\n\n{verdicts(found)}"


def _collection(place: Place, each: Compared) -> Found:
    network = bundle_of(place, each, model_of(each))
    tables = with_table(place, each, "collection")
    bundles = {WORDS: network, TABLE: tables, NETWORK: network}
    texts = [query.text for query in queries_of(place, each, ASKED)]
    contenders = {name: _ranking(bundle, name) for name, bundle in bundles.items()}
    contenders[LEAST] = _least(tables, each.model)
    took = take_turns(contenders, texts, ROUNDS, clock=process_time)
    starts, functions = (_starts(bundles, texts[0], snippet) for snippet in (OURS, LAMBDA))
    ms = {name: float(np.median(own)) for name, own in took.items()}
    return Found(tables.passages, ms, starts, functions)


def _least(bundle: runtime.Bundle, name: str) -> Callable[[str], Any]:
    """Return what no pipeline with a table can leave out: its rows, the codes, and the vectors."""
    ranker = cast("Dense", open_ranker(bundle.files, name))
    numbers = np.arange(QUICK_DEPTH, dtype=np.uint32)

    def least(text: str) -> None:
        vector = ranker.encoder.encode_queries([text]).vectors[0]
        ranker.index.search(vector, QUICK_DENSE_DEPTH)
        ranker.vectors.multiply_vectors(numbers, vector)

    return least


def _ranking(bundle: runtime.Bundle, name: str) -> Callable[[str], Any]:
    return lambda text: bundle.rank(text, k=10, pipeline=BM25 if name == WORDS else SUM)


def _starts(bundles: Mapping[str, runtime.Bundle], text: str, snippet: str) -> dict[str, float]:
    """Return the least ms from the start of a process to its first answer, in turns."""
    took = dict[str, list[float]]()
    for _ in range(STARTS + 1):
        for name, bundle in bundles.items():
            pipeline = BM25 if name == WORDS else SUM
            given = {"path": str(bundle.files.path), "text": text, "pipeline": pipeline}
            laps = fresh(snippet, given, environment=QUIET)["laps"]
            took.setdefault(name, []).append(float(sum(laps.values())))
    return {name: min(ms[1:]) for name, ms in took.items()}


def costs(found: Mapping[str, Found]) -> str:
    """Return what each system costs on each collection."""
    rows = []
    for collection, each in found.items():
        for name in (WORDS, TABLE, NETWORK):
            ms = each.ms[name]
            ratio, dollars = f"{ms / each.ms[WORDS]:.2f} ×", f"{REQUESTS + MS * ms:.3f}"
            starts = (f"{each.first[name]:.0f}", f"{each.function[name]:.0f}")
            rows.append([collection, name, f"{ms:.2f}", ratio, *starts, dollars])
    head = ["processor ms per query", "of BM25's", "first answer, ms", "first of a function, ms"]
    least = ", ".join(
        f"{each.ms[LEAST]:.2f} ms on {collection}'s {each.passages:,} passages, so "
        f"{1 + each.ms[LEAST] / each.ms[WORDS]:.2f} × is the least"
        for collection, each in found.items()
    )
    return f"""{table(["collection", "system", *head, "$ per million"], rows)}

To split a query, add up its rows, compare all codes and multiply {QUICK_DEPTH} vectors twice \
takes {least}."""


def verdicts(found: Mapping[str, Found]) -> str:
    """Return which goals are met."""
    time = float(np.mean([each.ms[TABLE] / each.ms[WORDS] for each in found.values()]))
    more = float(np.mean([each.first[TABLE] - each.first[WORDS] for each in found.values()]))
    return "\n".join(
        [
            goal("a query's time of BM25's", time, MOST_TIME, "×"),
            goal("the first answer beyond BM25's", more, MOST_MORE),
        ]
    )
