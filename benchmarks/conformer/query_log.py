"""What a log of queries adds to documents: to BM25, and to NDRM3, reranking and retrieving.

Mitra et al. (§4) add the queries of ORCAS to the documents that people clicked on. Here every
second query of train is the log. Networks learn from others, and queries of other documents are
reported. So a document may have logged queries, but never the one that is reported, nor one that
was learned from. Documents that nobody has asked for before gain nothing, so they stand apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.conformers import CONFORMER, CONFORMER_SIZES, CONFORMER_STEPS
from benchmarks.built.trained import train_resumably
from benchmarks.harness.judging import sharing
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection, Query, write_collection
from ranklet.training.data.query_log import with_query_log
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import Evaluation, evaluate, mark
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.options import Options
from ranklet.training.rankers.conformer_kernel.sizes import Network

PACKAGES = ("torch", "gensim", "onnxruntime")
COLLECTION = "qa-mix"  # a third of its documents is asked for by several queries
DEPTH = 100  # documents reranked and measured, as in the paper
QUERIES = 2_000  # reported, at most
TUNING = 1_000  # for k1 and b and the best weights
MEASURES = ("nDCG@10", "MRR@10")
# Splits, and what they are of train apart from the log. Parts of a split share no document.
LOG = "log"
PARTS = {"learn": "train[:80%]", "tuning": "train[80%:90%]", "report": "train[90%:]"}
LEARN, HELD_OUT, REPORT = PARTS
WITHOUT, WITH = "", " + log"


@dataclass(frozen=True)
class Sizes:
    """How large and how long the trainings are.

    Attributes:
        steps: of each network.
        queries: learned from, at most.
        network: dimensions, heads and groups.
    """

    steps: int = CONFORMER_STEPS["ndrm3"]
    queries: int = 10_000
    network: Network = field(default_factory=lambda: Network(**CONFORMER_SIZES))


def run(place: Place, name: str = COLLECTION, sizes: Sizes | None = None) -> str:
    """Train with and without the log, index, and report."""
    sizes = sizes or Sizes()
    whole = cut(place, name)
    queries = read_split(whole, REPORT, limit=QUERIES)
    found: dict[str, Evaluation] = {}
    for log in (WITHOUT, WITH):
        bundle = runtime.load(_bundle(place, name, log, sizes))
        for each in evaluate(bundle, queries, _recipes(log), measures=MEASURES, depth=DEPTH):
            found[each.pipeline] = each
    log_queries = read_split(whole, LOG)
    known = sharing(queries, log_queries)
    return f"""
{name}, {len(bundle):,} documents. The log has {len(log_queries):,} queries. Networks \
learn {sizes.steps:,} steps, and k1 and b are tuned on {TUNING:,} queries. {len(queries):,} \
queries are reported, and {int(known.sum()):,} of them have a relevant document with queries in \
the log. *rerank*: on BM25's best {DEPTH}; *fullrank*: impacts alone.

{_table(found, known)}

Each system is tested against the same one without the log: † p < .05, ‡ p < .01 (two-sided paired \
t-tests, Holm's correction).
"""


def _recipes(log: str) -> dict[str, Pipeline]:
    first = Retrieve("bm25", DEPTH)
    return {
        f"BM25{log}": Pipeline((first,)),
        f"NDRM3{log}, rerank": Pipeline((first, Rescore("ndrm3"))),
        f"NDRM3{log}, fullrank": Pipeline((Retrieve("ndrm3", DEPTH),)),
    }


def _table(found: dict[str, Evaluation], known: NDArray[np.bool_]) -> str:
    pairs = list(zip(_recipes(WITH), _recipes(WITHOUT), strict=True))
    signs = {
        measure: {
            pair[0]: mark(test.p_holm).strip()
            for pair, test in zip(
                pairs,
                compare({k: v.values[measure] for k, v in found.items()}, pairs=pairs),
                strict=True,
            )
        }
        for measure in MEASURES
    }
    rows = []
    for label, each in found.items():
        cells = [f"{each.mean(m):.4f}{signs[m].get(label, '')}" for m in MEASURES]
        own = each.values[MEASURES[0]]
        apart = [f"{own[part].mean():.4f}" if part.any() else "" for part in (known, ~known)]
        rows.append([label, *cells, *apart])
    return table(
        ["system", *MEASURES, f"{MEASURES[0]}, in the log", f"{MEASURES[0]}, not in it"], rows
    )


def cut(place: Place, name: str) -> Collection:
    """Return the collection with a log and the `PARTS` of train."""
    whole = place.collection(name)

    def build(path: Path) -> None:
        splits = {LOG: _split([each for each in read_split(whole, "train") if _logged(each)])}
        for part, spec in PARTS.items():
            splits[part] = _split([e for e in read_split(whole, spec) if not _logged(e)])
        write_collection(path, whole.documents(), splits)

    return Collection(place.keep(f"{name}.cut", build, ("training/data",)))


def _logged(query: JudgedQuery) -> bool:
    """Return whether a query is in the log, as every second one is."""
    return crc32(query.id.encode()) % 2 == 0


def _split(queries: Sequence[JudgedQuery]) -> Any:
    listed = [Query(each.id, each.text) for each in queries]
    return listed, {each.id: each.relevant for each in queries}


def with_log(place: Place, name: str) -> Collection:
    """Return `cut` with the queries of the log in its documents."""
    plain = cut(place, name)

    def build(path: Path) -> None:
        splits = {each: (plain.queries(each), plain.qrels(each)) for each in PARTS}
        others = [query for each in PARTS for query in read_split(plain, each)]
        write_collection(path, with_query_log(plain, LOG, others), splits)

    return Collection(place.keep(f"{name}.with-log", build, ("training/data",)))


def _documents(place: Place, name: str, log: str) -> Collection:
    return with_log(place, name) if log else cut(place, name)


def tuned(place: Place, name: str, log: str) -> Checkpoint:
    """Return BM25 of documents with or without the log, tuned on queries that are not in it."""

    def build(path: Path) -> None:
        documents = _documents(place, name, log)
        queries = read_split(documents, HELD_OUT, limit=TUNING)
        bm25.train(documents, queries, [], BM25Options()).save(path)

    kept = f"{name}.{'log' if log else 'no-log'}.bm25"
    return read_checkpoint(place.keep(kept, build, ("training/rankers/bm25",)))


def _ndrm3(place: Place, name: str, log: str, sizes: Sizes) -> Checkpoint:
    """Return the network; a training that was interrupted goes on."""
    kept = f"{name}.{'log' if log else 'no-log'}.{sizes.steps}.ndrm3"

    def build(path: Path) -> None:
        documents = _documents(place, name, log)
        base = tuned(place, name, log).settings
        if not isinstance(base, BM25Settings):
            raise TypeError(f"the BM25 of {name} has {type(base).__name__}")
        options = Options(
            settings=ConformerKernelSettings(field=base.field, scorer="onnx"),
            network=sizes.network,
            steps=sizes.steps,
            evaluations=4,
            vectors="word2vec",
            bm25=base,
        )
        learn = read_split(documents, LEARN, limit=sizes.queries)
        held_out = read_split(documents, HELD_OUT, limit=TUNING)
        state = place.state(kept, CONFORMER)
        train_resumably(conformer_kernel.train, documents, learn, held_out, options, path, state)

    return read_checkpoint(place.keep(kept, build, CONFORMER))


def _bundle(place: Place, name: str, log: str, sizes: Sizes) -> Path:
    def build(path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        checkpoints = {
            "bm25": tuned(place, name, log), "ndrm3": _ndrm3(place, name, log, sizes),
        }  # fmt: skip
        export_bundle(checkpoints, rankers, ExportOptions(variants=("int8",)), overwrite=True)
        index_bundle(rankers, _documents(place, name, log), path, overwrite=True)

    kept = f"{name}.{'log' if log else 'no-log'}.{sizes.steps}.ranklet"
    return place.keep(kept, build, (*CODE, *CONFORMER))
