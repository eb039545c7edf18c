"""What EPIC adds to BM25, by reranking and by retrieving, and what pruning its vectors costs.

MiniLM-L6 learns from qa-mix. scifact, whose queries are claims, it never saw.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.epic_bundles import KEPT, epic_bundle
from benchmarks.peers import opened
from benchmarks.place import ROOT, Place
from benchmarks.repbert_quality import parity
from benchmarks.report import table
from benchmarks.trained import EPIC_MINUTES, TUNING_QUERIES, qa_mix_epic
from ranklet import runtime
from ranklet.export.pruning import LADDER
from ranklet.export.report import read_reports
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.ranker import Query
from ranklet.runtime.rankers.epic import EPIC
from ranklet.runtime.topk import top_k
from ranklet.training.evaluation import MEASURES, Evaluation, comparisons, evaluate, mark
from ranklet.training.impacts import index_of_rows
from ranklet.training.splits import JudgedQuery, read_split

PACKAGES = ("torch", "transformers", "onnx", "onnxruntime", "matplotlib")
SPLITS = {"qa-mix": "dev", "scifact": "test"}
RERANKED, DEPTH, TOP = 100, 100, 10
BASE = "BM25 (lemmas), tuned"
RERANK, ALONE = "EPIC on BM25's top 100", "EPIC alone"
PICTURE = ROOT / "docs" / "epic-pruning.png"


def run(place: Place) -> str:
    """Train or take what is kept; export, index, evaluate, prune further and evaluate again."""
    parts, curves = [], {}
    for name, split in SPLITS.items():
        path, queries = epic_bundle(place, name), read_split(place.collection(name), split)
        bundle = runtime.load(path)
        found = evaluate(bundle, queries, recipes(), depth=DEPTH)
        parts.append(f"{name} ({len(bundle):,} documents, {len(queries):,} queries of {split}):\n")
        parts.append(quality(found) + "\n")
        curves[name] = curve(path, queries)
    draw(curves, PICTURE)
    course = qa_mix_epic(place).training
    dev = ", ".join(f"{each['value']:.3f}" for each in course["evaluations"])
    reports = read_reports(epic_bundle(place, "qa-mix"))["epic"]
    variants = [each for each in reports if not each.variant.startswith("r=")]
    return f"""
EPIC: {course["backbone"]}, {course["steps"]:,} steps of 16 queries, in-batch negatives and one of \
BM25's top 500 a query, at most {EPIC_MINUTES:g} minutes ({course["seconds"] / 60:.0f} taken, on \
all cores); {course["measure"]} as it learned: {dev}. Expansion began with {course["expansion"]}. \
r = {KEPT}. \
BM25 tuned on {TUNING_QUERIES:,} queries of train.

{chr(10).join(parts)}
Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction).

What pruning costs: MRR@10 of reranking BM25's top {RERANKED}, and of retrieving, with the r \
largest values of a document's vector (picture: docs/{PICTURE.name}); KiB a document:

{curve_table(curves)}

The proof of the exported variants, both encoders together, {reports[0].pairs:,} pairs of held-out \
queries and documents, r = {KEPT}; error as a share of the standard deviation of PyTorch's scores:

{parity(variants)}
"""


def recipes() -> dict[str, Pipeline]:
    """Return what is compared, by name."""
    both = ("bm25", "epic")
    lists = Retrieve("bm25", DEPTH), Retrieve("epic", DEPTH)
    rerank = (Retrieve("bm25", RERANKED), Rescore("epic"))
    return {
        BASE: Pipeline(lists[:1]),
        RERANK: Pipeline(rerank),
        "the same, reciprocal ranks of both": Pipeline((*rerank, Fuse("rrf", both, (1.0, 1.0)))),
        ALONE: Pipeline(lists[1:]),
        "both retrieve, reciprocal ranks": Pipeline(
            (*lists, Fuse("rrf", both, (1.0, 1.0)), Keep(DEPTH))
        ),
    }


def quality(found: Sequence[Evaluation]) -> str:
    """Return a table of systems with marks of significance, and gains over BM25."""
    against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
    base = found[0].mean(MEASURES[0])
    rows = []
    for each in found:
        cells = [
            f"{each.mean(measure):.4f}"
            + (mark(against[measure][each.pipeline].p_holm) if each.pipeline != BASE else "")
            for measure in MEASURES
        ]
        rows.append([each.pipeline, *cells, f"{each.mean(MEASURES[0]) / base - 1:+.1%}"])
    return table(["system", *MEASURES, MEASURES[0] + " gain"], rows)


def curve(path: Path, queries: Sequence[JudgedQuery]) -> dict[int, tuple[float, float, float]]:
    """Return MRR@10 of reranking, of retrieving, and KiB a document, by r."""
    bundle = opened(path)
    ranker, first, documents = bundle.ranker("epic"), bundle.ranker("bm25"), bundle.documents
    if not isinstance(ranker, EPIC) or documents is None:
        raise TypeError(f"epic is {ranker!r}")
    ids, asked = documents.ids, []
    for each in queries:
        query = Query(each.text, bundle.analyzer.begin())
        numbers, _ = first.retrieve(query, RERANKED)
        asked.append((each, ranker.encode_query(query), numbers))
    found = {}
    for r in [r for r in LADDER if r <= KEPT]:
        store = further(ranker.store, r)
        index = index_of_rows(
            store.offsets, store.terms, store.values.astype(np.float32), ranker.settings.vocabulary
        )
        ranks: tuple[list[float], list[float]] = ([], [])
        for each, (terms, weights), numbers in asked:
            scores = weights.astype(np.float64) @ store.impacts(terms, numbers)
            best = numbers[top_k(scores, TOP, ties=numbers)]
            retrieved, _ = index.retrieve(terms, weights, TOP)
            for values, ranked in zip(ranks, (best, retrieved), strict=True):
                values.append(reciprocal_rank(each.relevant, [ids[n] for n in ranked.tolist()]))
        size = 4 * len(store.terms) / len(store) / 1024
        found[r] = (float(np.mean(ranks[0])), float(np.mean(ranks[1])), size)
    return found


def further(store: SparseStore, kept: int) -> SparseStore:
    """Return a store with no more than the `kept` largest values of each vector."""
    owner = np.repeat(np.arange(len(store)), np.diff(store.offsets))
    order = np.lexsort((-store.values.astype(np.float32), owner))
    place = np.arange(len(owner)) - store.offsets[owner]  # the rank of order's entries
    chosen: NDArray[np.intp] = np.sort(order[place < kept])
    counts = np.bincount(owner[chosen], minlength=len(store))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return SparseStore(offsets, store.terms[chosen], store.values[chosen])


def reciprocal_rank(relevant: Mapping[str, int], ranked: Sequence[str]) -> float:
    """Return 1 / rank of the first relevant document, 0 where none is ranked.

    >>> reciprocal_rank({"b": 1}, ["a", "b"])
    0.5
    """
    return next((1 / at for at, name in enumerate(ranked, 1) if relevant.get(name, 0) > 0), 0.0)


def curve_table(curves: Mapping[str, Mapping[int, tuple[float, float, float]]]) -> str:
    """Return a row an r, with the loss against the largest."""
    head = ["r"]
    for name in curves:
        head += [f"{name}: reranking", "loss", "retrieving", "loss", "KiB"]
    rows = []
    for r in next(iter(curves.values())):
        row = [str(r)]
        for points in curves.values():
            rerank, retrieve, size = points[r]
            most = points[max(points)]
            row += [f"{rerank:.4f}", f"{1 - rerank / most[0]:.1%}"]
            row += [f"{retrieve:.4f}", f"{1 - retrieve / most[1]:.1%}", f"{size:.2f}"]
        rows.append(row)
    return table(head, rows)


def draw(curves: Mapping[str, Mapping[int, tuple[float, float, float]]], target: Path) -> None:
    """Write a picture of MRR@10 over r, a panel a collection."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.2))
    for panel, (name, points) in zip(np.atleast_1d(panels), curves.items(), strict=True):
        for at, label in enumerate((RERANK, ALONE)):
            panel.plot(list(points), [each[at] for each in points.values()], "o-", label=label)
        panel.set(xscale="log", xlabel="r, values kept of a document", title=name)
        panel.set_xticks(list(points), [str(r) for r in points])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    first = np.atleast_1d(panels)[0]
    first.set_ylabel("MRR@10")
    first.legend()
    figure.tight_layout()
    figure.savefig(target, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
