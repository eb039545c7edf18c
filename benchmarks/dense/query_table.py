"""A table of vectors for queries next to the network that it learned from, to words, and to both.

Documents are encoded by the network in all of them. Tables learn from random words of the model
alone, and then from the documents of the collection, of all others, or of all. No query is learned
from. Every step is kept, so an interrupted run continues.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.footprint.cold_start import NUMPY, OURS, QUIET
from benchmarks.fusion.collections import (
    BM25,
    COMPARED,
    E5,
    Compared,
    bundle_of,
    documents_of,
    model_of,
    queries_of,
)
from benchmarks.fusion.default_fusion import DOCUMENTS
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import goal, goal_at_least, table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.building.default_fusion import FUSION, fusion_of
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.export.query_tables.writing import with_query_tables
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.query_table import QUERIES
from ranklet.runtime.pipeline import Pipeline

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")
MEASURE, DEPTH = "nDCG@10", 100
MINUTES = 30.0  # of learning, on an idle machine
LANGUAGES = ("debian-de", "debian-fr", "debian-ja", "debian-de-en")  # of those with E5
SOURCES = ("model", "collection", "others", "all")  # that a table learns from
STARTS, ROUNDS, ASKED = 9, 5, 100
LEAST_SHARE, SURE = 0.96, 0.01  # of the network's hybrid, and p above words
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

Values = Mapping[str, NDArray[np.float64]]  # of each query, by system


@dataclass(frozen=True)
class Found:
    """What was measured of a collection."""

    values: Values
    ms: Mapping[str, float]  # of a query, by system
    first: Mapping[str, float]  # ms of the first answer of a process
    function: Mapping[str, float]  # and of a Lambda function's
    bytes: int  # of the table


def run(place: Place) -> str:
    """Learn the tables of each collection, and compare the systems on its queries."""
    found: dict[str, Found] = {}
    for each in compared():
        try:
            found[each.name] = _collection(place, each)
        except MissingDataError as missing:
            print(f"{each.name}: {missing}")
    return f"{quality(found)}\n\n{costs(found)}\n\n{verdicts(found)}"


def compared() -> list[Compared]:
    """Return the collections, with as many documents as `default_fusion` has."""
    chosen = [each for each in COMPARED if each.model != E5 or each.name in LANGUAGES]
    return [each._replace(documents=min(DOCUMENTS, each.documents)) for each in chosen]


def _collection(place: Place, each: Compared) -> Found:
    network = bundle_of(place, each, model_of(each))
    values = {**_values(place, each, network, {"BM25": BM25, "network": each.model,
                                               "BM25 + network": SUM}, "network")}  # fmt: skip
    bundles = {"BM25": network, "BM25 + network": network}
    for source in SOURCES:
        bundle = _with_table(place, each, network, source)
        recipes = {f"table ({source})": each.model, f"BM25 + table ({source})": SUM}
        values |= _values(place, each, bundle, recipes, source)
        bundles[f"BM25 + table ({source})"] = bundle
    timed = {name: bundles[name] for name in _timed()}
    texts = [query.text for query in queries_of(place, each)[:ASKED]]
    took = take_turns(
        {name: _ranking(bundle, name) for name, bundle in timed.items()}, texts, ROUNDS
    )
    starts = {name: _start(name, bundle, texts[0], OURS) for name, bundle in timed.items()}
    functions = {name: _start(name, bundle, texts[0], LAMBDA) for name, bundle in timed.items()}
    held = bundles["BM25 + table (all)"].manifest.files
    folder = f"rankers/{each.model}/{QUERIES}"
    size = sum(entry.bytes for file, entry in held.items() if file.startswith(folder))
    medians = {name: float(np.median(ms)) for name, ms in took.items()}
    return Found(values, medians, starts, functions, size)


def _timed() -> tuple[str, ...]:
    return ("BM25", "BM25 + table (all)", "BM25 + network")


def _ranking(bundle: runtime.Bundle, name: str) -> Any:
    return lambda text: bundle.rank(text, k=10, pipeline=_pipeline(bundle, name))


def _pipeline(bundle: runtime.Bundle, name: str) -> Pipeline:
    """Return the pipeline of a system; sums get the weights that a build of the bundle gives."""
    return bundle.manifest.pipelines[BM25 if name == "BM25" else SUM]


def _with_table(
    place: Place, each: Compared, network: runtime.Bundle, source: str
) -> runtime.Bundle:
    """Return the bundle with a table, and with the weights that a build gives."""

    def build(path: Path) -> None:
        titled = _texts(place, each, source)
        learned = path.with_name(f"{path.name}.part")
        with_query_tables(str(network.files.path), learned, titled, MINUTES, overwrite=True)
        _weighed(learned, path)

    name = f"{each.name}.{each.model}.{source}.table.ranklet"
    return runtime.load(place.keep(name, build))


def _weighed(learned: Path, path: Path) -> None:
    """Write a bundle again with the default weights of its rankers."""
    files = BundleFiles(learned)
    with BundleWriter(path, overwrite=True) as writer:
        writer.copy(files)
        fused = fusion_of(files, FUSION)
        writer.finish(
            replace(files.manifest, pipelines=fused.pipelines, default_pipeline=fused.default)
        )


def _texts(place: Place, each: Compared, source: str) -> Iterator[tuple[str, str]]:
    for other in compared():
        own = other.name == each.name
        wanted = {"model": False, "collection": own, "others": not own, "all": True}[source]
        if wanted and other.model == each.model:
            for document in documents_of(place, other):
                yield document.title, document.text


def _values(
    place: Place, each: Compared, bundle: runtime.Bundle, recipes: Mapping[str, str], part: str
) -> dict[str, NDArray[np.float64]]:
    """Return the measure of each query by system, which is kept."""

    def build(path: Path) -> None:
        pipelines = {name: bundle.manifest.pipelines[own] for name, own in recipes.items()}
        found = evaluate(
            bundle, queries_of(place, each), pipelines, measures=[MEASURE], depth=DEPTH
        )
        path.write_text(json.dumps({it.pipeline: it.values[MEASURE].tolist() for it in found}))

    given = str(bundle.manifest.sha256)
    path = place.keep(f"{each.name}.{part}.values.json", build, ("runtime/execution",), given)
    return {name: np.array(each) for name, each in json.loads(path.read_text()).items()}


def _start(name: str, bundle: runtime.Bundle, text: str, snippet: str) -> float:
    """Return the median ms from the start of a process to its first answer."""
    pipeline = BM25 if name == "BM25" else SUM
    given = {"path": str(bundle.files.path), "text": text, "pipeline": pipeline}
    took = [fresh(snippet, given, environment=QUIET) for _ in range(STARTS + 1)][1:]
    return float(np.median([sum(each["laps"].values()) for each in took]))


def quality(found: Mapping[str, Found]) -> str:
    """Return the table of the measure by system and collection, with p against words."""
    names = [*next(iter(found.values())).values]
    rows = [
        [name, *(f"{each.values[name].mean():.3f}{_sure(each.values, name)}" for each in
                 found.values()), f"{_mean(found, name):.3f}"]
        for name in names
    ]  # fmt: skip
    head = table([MEASURE, *found, "mean"], rows)
    return f"{head}\n\n`*` is above BM25 with p < .05, and `**` with p < .01 (paired)."


def costs(found: Mapping[str, Found]) -> str:
    """Return what each system costs, as the mean over collections."""
    rows = []
    for name in _timed():
        ratio = np.mean([each.ms[name] / each.ms["BM25"] for each in found.values()])
        ms, first, function = (
            float(np.mean([part[name] for part in parts]))
            for parts in zip(*((each.ms, each.first, each.function) for each in found.values()),
                             strict=True)
        )  # fmt: skip
        dollars = REQUESTS + MS * ms
        rows.append([name, f"{ms:.3f}", f"{ratio:.2f} ×", f"{first:.0f}", f"{function:.0f}",
                     f"{dollars:.3f}"])  # fmt: skip
    sizes = ", ".join(f"{each.bytes / 1e6:.1f} MB ({name})" for name, each in found.items())
    head = ["system", "ms per query", "of BM25's", "first answer, ms", "first of a function, ms",
            "$ per million"]  # fmt: skip
    return f"{table(head, rows)}\n\nThe tables of queries: {sizes}."


def verdicts(found: Mapping[str, Found]) -> str:
    """Return which goals are met."""
    hybrid = "BM25 + table (all)"
    share = _mean(found, hybrid) / _mean(found, "BM25 + network")
    surely = sum(_p(each.values, hybrid) < SURE for each in found.values())
    time = float(np.mean([each.ms[hybrid] / each.ms["BM25"] for each in found.values()]))
    more = float(np.mean([each.first[hybrid] - each.first["BM25"] for each in found.values()]))
    return "\n".join(
        [
            goal_at_least("the share of the hybrid with the network", share, LEAST_SHARE, ""),
            goal_at_least(f"collections above BM25 with p < {SURE}", surely, 0.9 * len(found), ""),
            goal("a query's time of BM25's", time, MOST_TIME, "×"),
            goal("the first answer beyond BM25's", more, MOST_MORE),
        ]
    )


def _mean(found: Mapping[str, Found], name: str) -> float:
    return float(np.mean([each.values[name].mean() for each in found.values()]))


def _p(values: Values, name: str) -> float:
    """Return p of a gain over words; 1 if there is none."""
    (tested,) = compare({each: values[each] for each in (name, "BM25")}, pairs=[(name, "BM25")])
    return tested.p if tested.difference > 0 else 1.0


def _sure(values: Values, name: str) -> str:
    p = 1.0 if name == "BM25" else _p(values, name)
    return "**" if p < SURE else "*" if p < 0.05 else ""
