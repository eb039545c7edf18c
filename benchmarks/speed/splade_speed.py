"""SPLADE next to EPIC: milliseconds per query, per document and per retrieval.

Both start from MiniLM-L6 and learn for a few steps only, because speed depends on the number of
terms and not on their quality. What they would find says nothing here, so no measure is reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.query_vector import SparseQuery
from ranklet.runtime.rankers.learned_sparse import LearnedSparse
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import write_collection
from ranklet.training.data.splits import read_split

PACKAGES = ("onnxruntime",)
# As few as a run of some four minutes on one core allows.
DOCUMENTS, QUERIES, READ = 500, 100, 40  # indexed, asked, and encoded for the clock
LEARNED, LEARNED_FROM = 16, 64  # queries and documents of the training
KEPT, K, ROUNDS = 200, 10, 3
CODE = (
    "benchmarks/speed/splade_speed.py", "training/learning", "training/rankers", "export", "runtime"
)  # fmt: skip
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "EPIC": ("epic", {}),
    "SPLADE": ("splade", {}),
    "SPLADE, queries by IDF": ("splade", {"queries": "idf"}),
}


def run(place: Place) -> str:
    """Train for a few steps, export int8, index, and time each step on one thread."""
    path = place.keep("splade-speed", lambda path: _build(place, path), CODE)
    with one_thread():
        return _timed(place, BundleFiles(path))


def _timed(place: Place, bundle: BundleFiles) -> str:
    rankers: dict[str, LearnedSparse] = {}
    for at, name in enumerate(SYSTEMS):
        ranker = bundle.ranker(f"system{at}")
        if not isinstance(ranker, LearnedSparse):
            raise TypeError(f"{name} is no learned sparse ranker")
        rankers[name] = ranker
    queries = [each.text for each in read_split(place.collection("qa-mix"), "dev")[:QUERIES]]
    texts = [bundle.need_documents().record(at)[2] for at in range(READ)]
    vectors = {name: ranker.encoders.encode_queries(queries)[0] for name, ranker in rankers.items()}
    encoding = take_turns(
        {name: _encodes_query(ranker) for name, ranker in rankers.items()}, queries, ROUNDS
    )
    reading = take_turns(
        {name: _encodes_document(ranker) for name, ranker in rankers.items()}, texts, ROUNDS
    )
    retrieving = take_turns(
        {name: _retrieves(ranker, vectors[name]) for name, ranker in rankers.items()},
        range(QUERIES),
        ROUNDS,
    )
    rows = []
    for name, ranker in rankers.items():
        terms = np.mean([len(vector.terms) for vector in vectors[name]])
        stored = len(ranker.store.terms) / len(ranker.store)
        row = [name]
        for ms in (encoding, reading, retrieving):
            p50, of_epic = np.median(ms[name]), np.median(ms["EPIC"])
            row += [f"{p50:.3f}", f"{p50 / of_epic:.2f}"]
        rows.append([*row, f"{terms:.0f}", f"{stored:.0f}"])
    head = ["system", "query ms", "÷ EPIC", "document ms", "÷ EPIC", "retrieval ms", "÷ EPIC"]
    return f"""
{DOCUMENTS:,} documents of qa-mix, int8, one thread, at most r = {KEPT} values per document, the \
top {K} of the whole collection, p50 of {QUERIES} queries and {READ} documents. The networks \
have learned from {LEARNED} queries only, so SPLADE's queries have more terms than after a \
training with its penalty, and retrieval takes longer.

{table([*head, "terms per query", "per document"], rows)}
"""


def _encodes_query(ranker: LearnedSparse) -> Any:
    return lambda text: ranker.encoders.encode_queries([text])


def _retrieves(ranker: LearnedSparse, queries: Sequence[SparseQuery]) -> Callable[[int], object]:
    return lambda at: ranker.index.retrieve(queries[at].terms, queries[at].weights, K)


def _encodes_document(ranker: LearnedSparse) -> Any:
    return lambda text: ranker.encoders.encode_documents([text])


def _build(place: Place, path: Path) -> None:
    whole = place.collection("qa-mix")
    queries = read_split(whole, "train[90%:]")[: 2 * LEARNED]
    relevant = {document for query in queries for document in query.relevant}
    learned = [each for each in whole.documents() if each.id in relevant]
    others = (each for each in whole.documents() if each.id not in relevant)
    documents = [*learned, *islice(others, DOCUMENTS - len(learned))]
    few, all_of_them = (
        write_collection(path.with_name(f"{path.name}.{len(some)}"), some, {}, overwrite=True)
        for some in (documents[:LEARNED_FROM], documents)
    )
    checkpoints: dict[str, Checkpoint] = {}
    for at, (kind, changes) in enumerate(SYSTEMS.values()):
        module = f"ranklet.training.rankers.{kind}"
        options = replace(
            import_module(f"{module}.options").Options(), device="cpu", evaluations=1,
            negatives="in-batch", **changes,
        )  # fmt: skip
        train = import_module(f"{module}.training").train
        checkpoints[f"system{at}"] = train(few, queries[:LEARNED], queries[LEARNED:], options)
    exported = path.with_name(f"{path.name}.exported")
    options = ExportOptions(variants=("int8",), max_ndcg_loss=1.0, prune=KEPT)
    export_bundle(checkpoints, exported, options, overwrite=True)
    index_bundle(exported, all_of_them, path)
