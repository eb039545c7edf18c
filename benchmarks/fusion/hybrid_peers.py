"""A search without judgements, next to the hybrids of other projects on the same vectors."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import BM25, COMPARED, MINILM, Compared, bundle_of, queries_of
from benchmarks.harness.contest import contest
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate, mark, measure_run
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.pipelines.pipeline import Fuse, Pipeline
from ranklet.runtime.rankers.dense import Dense
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime", "tokenizers")
MEASURES, DEPTH = ("MRR@10", "nDCG@10", "R@100"), 100
NAMES = ("scifact", "qa-mix", "google-wiki", "debian-packages")
OURS = "ranklet build --model"
# Simpler sums of the same two lists: of shares of min-max normalised scores, and of fixed weights.
MIN_MAX, FIXED = {BM25: 0.3, MINILM: 0.7}, {BM25: 0.4, MINILM: 0.6}
SUMS = "our lists, min-max .3 / .7", "our lists, --weights bm25=.4,minilm=.6"


def run(place: Place) -> str:
    """Rank the queries of each collection by everybody."""
    rows = []
    for each in COMPARED:
        if each.name in NAMES and each.model == MINILM:
            rows += _rows(place, each)
    return f"""
{table(["collection, queries", "system", *MEASURES], rows)}

All get the same passages and the same vectors of all-MiniLM-L6-v2 (int8, as ranklet serves it), \
and run with their defaults. Nothing was tuned or trained. The two other sums of our lists are \
simpler than its fusion. bm25s has stop words and a stemmer. \
† p < .05, ‡ p < .01 against {OURS} (two-sided paired t-tests, Holm's correction).
"""


def _rows(place: Place, each: Compared) -> list[list[str]]:
    queries = queries_of(place, each)
    bundle = bundle_of(place, each, wheel_folder())
    fixed = fused(bundle.manifest.pipeline(None), FIXED)
    pipelines = {OURS: None, SUMS[1]: fixed}
    ours, weighed = evaluate(bundle, queries, pipelines, measures=MEASURES, depth=DEPTH)
    values: dict[str, Mapping[str, NDArray[np.float64]]] = {
        OURS: ours.values,
        SUMS[0]: measure_run(queries, min_max(bundle, queries), MEASURES),
        SUMS[1]: weighed.values,
    }
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


def fused(default: Pipeline, weights: Mapping[str, float]) -> Pipeline:
    """Return the sum that a default pipeline is, with other weights."""
    *lists, _ = default.stages
    return Pipeline((*lists, Fuse("linear", tuple(weights), tuple(weights.values()))))


def min_max(bundle: Bundle, queries: Sequence[JudgedQuery]) -> dict[str, list[tuple[str, float]]]:
    """Return the hits of each query by the sum of scores between 0 and 1; a missing one is 0."""
    run = {}
    for query in queries:
        scores: dict[str, float] = defaultdict(float)
        for name, share in MIN_MAX.items():
            hits = bundle.rank_ids(query.text, k=DEPTH, pipeline=name)
            low, high = (min(each[1] for each in hits), hits[0][1]) if hits else (0.0, 1.0)
            for document, score in hits:
                scores[document] += share * (score - low) / ((high - low) or 1.0)
        run[query.id] = sorted(scores.items(), key=lambda each: -each[1])[:DEPTH]
    return run


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
    documents, ranker = bundle.files.need_documents(), open_ranker(bundle.files, MINILM)
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
