"""NDRM3 after 2,000 steps on debian-packages: reranking, and retrieving by impacts.

It is exported and indexed, so what is measured is what is served (Mitra et al., Table 1).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.built.trained import CONFORMER, learned, tuned_bm25
from benchmarks.harness.place import Place
from benchmarks.papers.scored_lists import compared
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import evaluate

PACKAGES = ("torch", "gensim", "onnx", "onnxruntime")
COLLECTION, STEPS, DEPTH, RERANKED = "debian-packages", 2_000, 100, 700
BM25, RETRIEVES, RERANKS = "BM25", "NDRM3 retrieves", "NDRM3 reranks"
IMPACTS, DEEP = "NDRM3's impacts rerank", 5_000
KEPT = ((300, 600), (1_000, 1_200))  # impacts of a document, and those that are tried; the default
MORE = "NDRM3 retrieves, 1,000 terms"


def run(place: Place) -> str:
    """Train what is not kept, index it, and compare."""
    bm25 = tuned_bm25(place, COLLECTION)
    settings = ConformerKernelSettings(field=bm25.field, architecture="ndrm3", scorer="onnx")
    own = CONFORMER | {"steps": STEPS, "queries": None, "evaluate_every": 400}
    network = learned(place, "conformer_kernel", COLLECTION, str(STEPS), settings=settings, **own)

    def indexed(kept: int, candidates: int) -> runtime.Bundle:
        few = replace(
            network, settings=replace(network.settings, terms=kept, candidates=candidates)
        )
        rankers = {"bm25": Checkpoint("bm25", bm25), "ndrm3": few}

        def build(path: Path) -> None:
            made = path.with_name(f"{path.name}.rankers")
            export_bundle(rankers, made, None, overwrite=True)
            index_bundle(made, place.collection(COLLECTION), path, overwrite=True)

        return runtime.load(place.keep(f"{COLLECTION}.ndrm3.{kept}.ranklet", build, (), "1"))

    bundle, larger = (indexed(*each) for each in KEPT)
    queries = read_split(place.collection(COLLECTION), "dev")
    retrieving = {
        BM25: Pipeline((Retrieve("bm25", DEPTH),)),
        RETRIEVES: Pipeline((Retrieve("ndrm3", DEPTH),)),
    }
    reranking = {RERANKS: Pipeline((Retrieve("bm25", DEPTH), Rescore("ndrm3")))}
    few = queries[:RERANKED]
    tables = [_by_impacts(bundle, few)]
    for measure in ("nDCG@10", "MRR@10"):
        every = evaluate(bundle, queries, retrieving, measures=(measure,), depth=DEPTH)
        some = evaluate(bundle, few, retrieving | reranking, measures=(measure,), depth=DEPTH)
        of_all, of_few = (
            {each.pipeline: each.values[measure] for each in found} for found in (every, some)
        )
        (more,) = evaluate(larger, queries, {MORE: retrieving[RETRIEVES]}, measures=(measure,),
                           depth=DEPTH)  # fmt: skip
        of_all[MORE] = more.values[measure]
        pairs = [(MORE, RETRIEVES), (MORE, BM25), (RETRIEVES, BM25)]
        tables.append(compared(of_all, pairs, measure))
        tables.append(compared(of_few, [(RERANKS, BM25), (RERANKS, RETRIEVES)], measure))
    return f"""
{COLLECTION}, {len(bundle):,} passages. One network of 128 dimensions learned {STEPS:,} steps \
from all queries of train[:90%]. Reranking reads BM25's first {DEPTH}. Paired t-tests over \
queries with Holm's correction per table.

{chr(10).join(f"{each}{chr(10)}" for each in tables)}
"""


def _by_impacts(bundle: runtime.Bundle, queries: Sequence[JudgedQuery]) -> str:
    """Return what impacts make of BM25's list, which tells their loss from the search's."""
    first, every, own = ([] for _ in range(3))
    for query in queries:
        of_bm25, found = (
            [name for name, _ in bundle.rank_ids(query.text, k=most, pipeline=Pipeline((stage,)))]
            for most, stage in (
                (DEPTH, Retrieve("bm25", DEPTH)), (DEEP, Retrieve("ndrm3", DEEP))
            )
        )  # fmt: skip
        place = {name: at for at, name in enumerate(found)}
        first.append(of_bm25)
        every.append(found)
        own.append(sorted(of_bm25, key=lambda name: place.get(name, DEEP)))
    values = {
        name: np.array([_reciprocal_rank(*each) for each in zip(lists, queries, strict=True)])
        for name, lists in ((BM25, first), (RETRIEVES, every), (IMPACTS, own))
    }
    return compared(values, [(IMPACTS, BM25), (IMPACTS, RETRIEVES)])


def _reciprocal_rank(names: Sequence[str], query: JudgedQuery) -> float:
    hits = [name in query.relevant for name in names[:10]]
    return 1 / (1 + hits.index(True)) if any(hits) else 0.0
