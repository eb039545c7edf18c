"""A search without judgements, next to the hybrids of other projects on the same vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import COMPARED, MINILM, Compared, bundle_of, queries_of
from benchmarks.harness.contest import contest
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate, mark, measure_run
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.dense import Dense
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime", "tokenizers")
MEASURES, DEPTH = ("MRR@10", "nDCG@10", "R@100"), 100
NAMES = ("scifact", "qa-mix", "google-wiki", "debian-packages")
OURS = "ranklet build --model"


def run(place: Place) -> str:
    """Rank the queries of each collection by everybody."""
    rows = []
    for each in COMPARED:
        if each.name in NAMES and each.model == MINILM:
            rows += _rows(place, each)
    return f"""
{table(["collection, queries", "system", *MEASURES], rows)}

All get the same passages and the same vectors of all-MiniLM-L6-v2 (int8, as ranklet serves it), \
and run with their defaults. Nothing was tuned or trained. bm25s has stop words and a stemmer. \
† p < .05, ‡ p < .01 against {OURS} (two-sided paired t-tests, Holm's correction).
"""


def _rows(place: Place, each: Compared) -> list[list[str]]:
    queries = queries_of(place, each)
    bundle = bundle_of(place, each, wheel_folder())
    (ours,) = evaluate(bundle, queries, {OURS: None}, measures=MEASURES, depth=DEPTH)
    values: dict[str, Mapping[str, NDArray[np.float64]]] = {OURS: ours.values}
    for name, lists in _peers(place, bundle, queries).items():
        ids = bundle.files.need_documents().ids
        hits = [dict.fromkeys(ids[number] for number in numbers) for numbers in lists]
        run = {
            query.id: [(document, -float(rank)) for rank, document in enumerate(found)]
            for query, found in zip(queries, hits, strict=True)
        }
        values[name] = measure_run(queries, run, MEASURES)
    return [
        [f"{each.name}, {len(queries):,}" if name == OURS else "", name, *_cells(values, name)]
        for name in values
    ]


def _peers(place: Place, bundle: Bundle, queries: list[JudgedQuery]) -> dict[str, Any]:
    request = _request(place, bundle, queries)
    return contest(place, "peer_hybrids", request, package="fusion")


def _cells(values: Mapping[str, Mapping[str, NDArray[np.float64]]], name: str) -> list[str]:
    cells = []
    for measure in MEASURES:
        cell = f"{values[name][measure].mean():.3f}"
        if name != OURS:
            systems = {each: found[measure] for each, found in values.items()}
            tests = compare(systems, pairs=[(each, OURS) for each in values if each != OURS])
            cell += mark(next(test.p_holm for test in tests if test.first == name)).strip()
        cells.append(cell)
    return cells


def _request(place: Place, bundle: Bundle, queries: list[JudgedQuery]) -> dict[str, Any]:
    """Return what the peers are asked: texts of passages, queries, and files of their vectors."""
    documents, ranker = bundle.files.need_documents(), ranker_of(bundle.files, MINILM)
    if not isinstance(ranker, Dense):
        raise TypeError(f"{MINILM} is no encoder")
    numbers = np.arange(len(documents))
    np.save(place.work / "peers.vectors.npy", ranker.vectors.floats(slice(None)))
    contexts = [QueryContext(query.text, bundle.files.analyzer.begin()) for query in queries]
    np.save(
        place.work / "peers.asked.npy",
        np.stack([ranker.query_vector(each) for each in contexts]).astype(np.float32),
    )
    return {
        "texts": [
            ranked_text(documents.titles[number], documents.texts[number], True)
            for number in numbers.tolist()
        ],
        "queries": [query.text for query in queries],
        "vectors": str(place.work / "peers.vectors.npy"),
        "asked": str(place.work / "peers.asked.npy"),
        "depth": DEPTH,
    }
