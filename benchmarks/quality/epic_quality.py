"""What EPIC adds to BM25, by reranking and by retrieving, and what pruning its vectors costs.

MiniLM-L6 learns from qa-mix; then that goes on with scifact, whose queries are claims.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.epic_bundles import KEPT, WHOLE, epic_bundle
from benchmarks.built.peers import opened, retriever_of
from benchmarks.built.trained import (
    SCIFACT_EPOCHS,
    SCIFACT_TOKENS,
    TITLES_TOKENS,
    TUNING_QUERIES,
    qa_mix_epic,
    scifact_epic,
    scifact_titles_epic,
)
from benchmarks.dense.repbert_quality import parity
from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import goal, table
from ranklet import runtime
from ranklet.export.proof.report import Report, read_reports
from ranklet.export.sparse.pruning import LADDER, TOLERATED_LOSS, VALUE_BYTES
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.epic import EPIC
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import MEASURES, Evaluation, comparisons, evaluate, mark
from ranklet.training.indexing.impacts import index_of_rows

PACKAGES = ("torch", "transformers", "onnx", "onnxruntime", "matplotlib")
SPLITS = {"qa-mix": "dev", "scifact": "test"}
MOST_QUERIES = 2000
RERANKED, DEPTH, TOP = 100, 100, 10
ENOUGH = 1000  # r that is to lose next to nothing
BASE = "BM25 (lemmas), tuned"
RERANK, ALONE = "EPIC on BM25's top 100", "EPIC alone"
PICTURE = ROOT / "docs" / "epic-pruning.png"

Curve = Mapping[int, tuple[float, float, float]]  # by r: MRR@10 of both uses, KiB a document


def run(place: Place) -> str:
    """Train or take what is kept; export, index, evaluate, prune further and evaluate again."""
    parts: list[str] = []
    curves: dict[str, Curve] = {}
    for name, split in SPLITS.items():
        path = epic_bundle(place, name)
        queries = read_split(place.collection(name), split, limit=MOST_QUERIES)
        bundle = runtime.load(path)
        found = evaluate(bundle, queries, recipes(), depth=DEPTH)
        parts.append(
            f"{name} ({len(bundle):,} documents, {len(queries):,} queries of {split}, "
            f"{_stored(KEPT[name])}):\n"
        )
        parts.append(quality(found) + "\n")
        curves[name] = curve(path, queries)
    draw(curves, PICTURE)
    course = qa_mix_epic(place).training
    titles, second = scifact_titles_epic(place).training, scifact_epic(place).training
    reports = read_reports(epic_bundle(place, "qa-mix"))["epic"]
    pruned = [each for each in reports if each.variant.startswith("r=")]
    variants = [each for each in reports if each not in pruned]
    return f"""
EPIC: {course["backbone"]}, {course["steps"]:,} steps of 16 queries, in-batch negatives and one of \
BM25's top 500 a query, {course["seconds"] / 60:.0f} minutes on \
all cores; {course["measure"]} as it learned: {_values(course)}. Expansion began with \
{course["expansion"]}. For scifact this went on with titles as queries for their abstracts, \
{titles["steps"]:,} steps, {TITLES_TOKENS} tokens, {titles["seconds"] / 60:.0f} minutes, held-out \
claims at {_values(titles)}; then with {SCIFACT_EPOCHS} epochs of its train, \
{second["steps"]:,} steps, {SCIFACT_TOKENS} tokens of a document, {second["seconds"] / 60:.0f} \
minutes; {second["measure"]}: {_values(second)}. BM25 tuned on {TUNING_QUERIES:,} queries of \
train, or what there are.

{chr(10).join(parts)}
Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction).

What pruning costs: MRR@10 of reranking BM25's top {RERANKED}, and of retrieving, with the r \
largest values of a document's vector, and the loss against the last of the column (picture: \
docs/{PICTURE.name}); KiB a document:

{curve_table(curves)}

The same on the probes of the export, {pruned[0].pairs:,} pairs of held-out queries and documents \
of qa-mix. Here r is compared with φ_d itself in PyTorch, whose values below a term's floor are \
not stored, so the last row is what leaving these out costs; errors are shares of the standard \
deviation of PyTorch's scores:

{proof_table(pruned)}

{chr(10).join(goals(curves, pruned))}

The proof of the exported variants, both encoders together, on the same pairs, r = \
{KEPT["qa-mix"]} in all; error as a share of the standard deviation of PyTorch's scores:

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
    """Return MRR@10 of reranking, of retrieving, and KiB a document, by r, ascending.

    The last r is that of the bundle. Only values of the queries' terms are looked at.
    """
    bundle = opened(path)
    ranker, first = bundle.ranker("epic"), retriever_of(bundle, "bm25")
    documents = bundle.documents
    if not isinstance(ranker, EPIC) or documents is None:
        raise TypeError(f"epic is {ranker!r}")
    ids, asked = documents.ids, []
    wanted = np.zeros(ranker.settings.vocabulary, np.bool_)
    for each in queries:
        query = QueryContext(each.text, bundle.analyzer.begin())
        numbers = first.retrieve(query, RERANKED).numbers
        asked.append((each, ranker.encode_query(query), numbers))
        wanted[asked[-1][1].terms] = True
    lengths = np.diff(ranker.store.offsets)
    of_queries = wanted[ranker.store.terms]
    places = places_of(ranker.store, ranker.encoders.priorities())[of_queries]
    store = chosen(ranker.store, of_queries)
    kept, found = ranker.settings.kept, {}
    for r in sorted({kept, *(r for r in LADDER if r < kept)}, reverse=True):
        store, places = chosen(store, places < r), places[places < r]
        index = index_of_rows(
            store.offsets, store.terms, store.values.astype(np.float32), len(wanted)
        )
        ranks: tuple[list[float], list[float]] = ([], [])
        for each, (terms, weights), numbers in asked:
            scores = weights.astype(np.float64) @ store.impacts(terms, numbers)
            best = numbers[top_k(scores, TOP, ties=numbers)]
            retrieved, _ = index.retrieve(terms, weights, TOP)
            for values, ranked in zip(ranks, (best, retrieved), strict=True):
                values.append(reciprocal_rank(each.relevant, [ids[n] for n in ranked.tolist()]))
        size = VALUE_BYTES * float(np.minimum(lengths, r).mean()) / 1024
        found[r] = (float(np.mean(ranks[0])), float(np.mean(ranks[1])), size)
    return dict(sorted(found.items()))


def further(store: SparseStore, kept: int, priorities: NDArray[np.float32]) -> SparseStore:
    """Return a store with no more than the `kept` values of each vector that `prune` would keep."""
    return chosen(store, places_of(store, priorities) < kept)


def places_of(store: SparseStore, priorities: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the place of each value in its document, 0 for what is kept first; ties by term.

    >>> values = np.array([0.5, 2, 1, 3], np.float16)
    >>> store = SparseStore(np.array([0, 3, 4]), np.arange(4, dtype=np.uint16), values)
    >>> places_of(store, np.array([1, 1, 3, 1], np.float32)).tolist()
    [2, 1, 0, 0]
    """
    found = np.empty(len(store.terms), np.uint16)
    for begin, end in pairwise(store.offsets.tolist()):
        values = np.asarray(store.values[begin:end], np.float32)
        order = np.argsort(-values * priorities[store.terms[begin:end]], kind="stable")
        found[begin + order] = np.arange(end - begin)
    return found


def chosen(store: SparseStore, held: NDArray[np.bool_]) -> SparseStore:
    """Return a store of some of the values, `held` (values,)."""
    counts = [np.count_nonzero(held[a:b]) for a, b in pairwise(store.offsets.tolist())]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return SparseStore(offsets, store.terms[held], store.values[held])


def reciprocal_rank(relevant: Mapping[str, int], ranked: Sequence[str]) -> float:
    """Return 1 / rank of the first relevant document, 0 where none is ranked.

    >>> reciprocal_rank({"b": 1}, ["a", "b"])
    0.5
    """
    return next((1 / at for at, name in enumerate(ranked, 1) if relevant.get(name, 0) > 0), 0.0)


def curve_table(curves: Mapping[str, Curve]) -> str:
    """Return a row an r, with the loss against the largest of each collection."""
    head = ["r"]
    for name in curves:
        head += [f"{name}: reranking", "loss", "retrieving", "loss", "KiB"]
    rows = []
    for r in sorted({r for points in curves.values() for r in points}):
        row = [_name(r)]
        for points in curves.values():
            if r not in points:
                row += [""] * 5
                continue
            rerank, retrieve, size = points[r]
            row += [f"{rerank:.4f}", f"{loss(points, r, 0):.1%}"]
            row += [f"{retrieve:.4f}", f"{loss(points, r, 1):.1%}", f"{size:.2f}"]
        rows.append(row)
    return table(head, rows)


def loss(points: Curve, r: int, use: int) -> float:
    """Return what r loses of MRR@10 against the largest r, as a share of that.

    Args:
        points: of a collection.
        r: in `points`.
        use: 0 for reranking, 1 for retrieving.
    """
    most = points[max(points)][use]
    return 1 - points[r][use] / most if most else 0.0


def proof_table(pruned: Sequence[Report]) -> str:
    """Return the export's reports of each r."""
    head = ["r", "max error", "Kendall τ", "same top 10", "nDCG@10", "loss", "KiB"]
    exact = ["φ_d in PyTorch", "", "", "", f"{pruned[0].torch_ndcg:.4f}", "", ""]
    rows = [
        [
            _name(_r(each)),
            f"{each.max_error:.2%}",
            f"{each.kendall:.4f}",
            f"{each.overlap:.1%}",
            f"{each.ndcg:.4f}",
            f"{each.ndcg_loss:+.2%}",
            f"{each.bytes / 1024:.2f}",
        ]
        for each in pruned
    ]
    return table(head, [*rows, exact])


def goals(curves: Mapping[str, Curve], pruned: Sequence[Report]) -> list[str]:
    """Return what r = 1000 loses against vectors that are not pruned, next to what it may."""
    most = 100 * TOLERATED_LOSS
    enough = next((each for each in pruned if _r(each) >= ENOUGH), pruned[-1])
    lines = [
        goal(f"loss of nDCG@10 on the probes at r = {ENOUGH}", 100 * enough.ndcg_loss, most, "%")
    ]
    for name, points in curves.items():
        if max(points) == WHOLE:
            lines += [
                goal(
                    f"{name}, loss of MRR@10 of {what} at r = {ENOUGH}",
                    100 * loss(points, ENOUGH, use), most, "%",
                )
                for use, what in enumerate(("reranking", "retrieving"))
            ]  # fmt: skip
    return lines


def _values(training: Mapping[str, Any]) -> str:
    return ", ".join(f"{each['value']:.3f}" for each in training["evaluations"])


def _r(report: Report) -> int:
    return int(report.variant.removeprefix("r="))


def _name(r: int) -> str:
    return "unpruned" if r >= WHOLE else str(r)


def _short(r: int) -> str:
    """Return what stands at an axis: 500, 1k, all."""
    if r >= WHOLE:
        return "all"
    return str(r) if r < 1000 else f"{r // 1000}k"


def _stored(kept: int) -> str:
    return "vectors not pruned" if kept >= WHOLE else f"r = {kept}"


def draw(curves: Mapping[str, Curve], target: Path) -> None:
    """Write a picture of MRR@10 over r, a panel a collection."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.2))
    for panel, (name, points) in zip(np.atleast_1d(panels), curves.items(), strict=True):
        for at, label in enumerate((RERANK, ALONE)):
            panel.plot(list(points), [each[at] for each in points.values()], "o-", label=label)
        panel.set(xscale="log", xlabel="r, values kept of a document", title=name)
        panel.set_xticks(list(points), [_short(r) for r in points])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    first = np.atleast_1d(panels)[0]
    first.set_ylabel("MRR@10")
    first.legend()
    figure.tight_layout()
    figure.savefig(target, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
