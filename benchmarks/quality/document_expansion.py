"""What EPIC adds to expanded documents, and what expansion adds to EPIC.

MacAvaney et al. (Table 1) rerank what BM25 finds in documents that docTTTTTquery has expanded, and
the gains add up. No generator is at hand, so the queries of a log expand the documents that people
found by them, as a generator's best queries would. EPIC reads the documents as they are.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import EPIC, HELD_OUT, TUNING_QUERIES, qa_mix_epic
from benchmarks.conformer.query_log import LOG, REPORT, WITH, WITHOUT, cut, tuned, with_log
from benchmarks.harness.evenly import evenly
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.judging import sharing, values_of
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.execution.fusion import ranks, reciprocal_ranks
from ranklet.runtime.pipeline import Pipeline, Retrieve
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark

PACKAGES = ("torch", "transformers", "onnxruntime")
COLLECTION = "qa-mix"  # a third of its documents is asked for by several queries
STEPS = 200  # of EPIC; its MRR@10 is then .006 below that of all 600 (`epic_quality`)
QUERIES, DEPTH = 2_000, 100
MEASURES = ("MRR@10", "nDCG@10", "R@100")
PLAIN, EXPANDED = "BM25", "BM25 of expanded documents"
READ = {PLAIN: f"EPIC on {PLAIN}'s first {DEPTH}", EXPANDED: f"EPIC on {EXPANDED}, first {DEPTH}"}
FUSED = {PLAIN: f"{PLAIN} + EPIC on it, by ranks", EXPANDED: f"{EXPANDED} + EPIC on it, by ranks"}
# Of each comparison the system that should be better, and the other.
PAIRS = (
    (EXPANDED, PLAIN),
    (READ[PLAIN], PLAIN),
    (READ[EXPANDED], EXPANDED),
    (READ[EXPANDED], READ[PLAIN]),
    (FUSED[PLAIN], PLAIN),
    (FUSED[EXPANDED], EXPANDED),
    (FUSED[EXPANDED], FUSED[PLAIN]),
)
Found = tuple[list[list[str]], list[NDArray[np.float32]]]  # ids and scores, best first or not


def run(place: Place) -> str:
    """Train, export and index what is not kept; rank and compare."""
    plain = cut(place, COLLECTION)
    chose = read_split(place.collection(COLLECTION), HELD_OUT, limit=TUNING_QUERIES)
    queries = reported(plain, chose, QUERIES)
    epic = qa_mix_epic(place, STEPS)
    bundles = {
        PLAIN: _bundle(place, "plain", plain, {"bm25": _bm25(place, WITHOUT), "epic": epic}),
        EXPANDED: _bundle(
            place, "expanded", with_log(place, COLLECTION), {"bm25": _bm25(place, WITH)}
        ),
    }
    known = sharing(queries, read_split(plain, LOG))  # a relevant document of theirs is expanded
    opened = {name: runtime.load(path, device="cpu") for name, path in bundles.items()}
    return section(queries, ranked(queries, opened), known, len(chose))


def reported(collection: Collection, chose: Sequence[JudgedQuery], most: int) -> list[JudgedQuery]:
    """Return queries, evenly spread, that EPIC neither learned from nor was chosen on."""
    ids = {query.id for query in chose}
    rest = [query for query in read_split(collection, REPORT) if query.id not in ids]
    return [rest[at] for at in evenly(len(rest), most)]


def ranked(
    queries: Sequence[JudgedQuery], bundles: Mapping[str, runtime.Bundle]
) -> dict[str, Found]:
    """Return what each system finds for each query.

    Args:
        queries: to rank for.
        bundles: BM25 and EPIC of documents as they are, and BM25 of expanded ones.
    """
    first, last = (Pipeline((Retrieve(name, DEPTH),)) for name in ("bm25", "epic"))
    found: dict[str, Found] = {}
    for name, bundle in bundles.items():
        lists = [bundle.rank_ids(query.text, k=DEPTH, pipeline=first) for query in queries]
        ids = [[id_ for id_, _ in each] for each in lists]
        by_bm25 = [np.array([score for _, score in each], np.float32) for each in lists]
        by_epic = [
            bundles[PLAIN].score(query.text, ids=own, pipeline=last)
            if own
            else np.zeros(0, np.float32)
            for query, own in zip(queries, ids, strict=True)
        ]
        found[name] = ids, by_bm25
        found[READ[name]] = ids, by_epic
        found[FUSED[name]] = ids, [by_ranks(*both) for both in zip(by_bm25, by_epic, strict=True)]
    return found


def by_ranks(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the reciprocal ranks of two scores of the same documents, (documents,) float32.

    >>> by_ranks(np.array([3, 2, 1], np.float32), np.array([1, 3, 2], np.float32)).argmax()
    np.int64(1)
    """
    ranked = np.stack([ranks(scores) for scores in (first, second)])
    return np.asarray(reciprocal_ranks(ranked, (1.0, 1.0)), np.float32)


def section(
    queries: Sequence[JudgedQuery], found: Mapping[str, Found], known: NDArray[np.bool_], chose: int
) -> str:
    """Return the tables.

    Args:
        queries: that are reported.
        found: by system, in the order of the table.
        known: which of the queries have an expanded relevant document.
        chose: queries that were left out, because EPIC's weights were chosen on them.
    """
    values = {name: values_of(queries, *own, MEASURES) for name, own in found.items()}
    rows = []
    for name, own in values.items():
        apart = [f"{own[MEASURES[0]][part].mean():.4f}" for part in (known, ~known)]
        rows.append([name, *(f"{own[m].mean():.4f}" for m in MEASURES), *apart])
    head = ["system", *MEASURES, f"{MEASURES[0]}, expanded", f"{MEASURES[0]}, not expanded"]
    series = {name: own[MEASURES[0]] for name, own in values.items()}
    compared = [
        [
            test.first,
            test.second,
            f"{shown(difference(series[test.first], series[test.second]))}"
            f"{mark(test.p_holm)}".strip(),
        ]
        for test in compare(series, pairs=PAIRS)
    ]
    return f"""
{len(queries):,} held-out queries of {COLLECTION}'s train, of which {int(known.sum()):,} have a \
relevant document that the log expands. Every second query of train is in the log, and neither the \
reported ones nor those that tuned BM25 are. EPIC learned for {STEPS} steps from documents without \
the log, and its {chose:,} choosing queries are left out. It is served in 8 bits.

{table(head, rows)}

{MEASURES[0]}, † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction), intervals of \
95 %:

{table(["system", "against", "difference"], compared)}
"""


def _bm25(place: Place, log: str) -> Checkpoint:
    return tuned(place, COLLECTION, log)


def _bundle(
    place: Place, name: str, documents: Collection, checkpoints: Mapping[str, Checkpoint]
) -> Path:
    """Return an indexed bundle; its name says whether documents are expanded."""

    def build(path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, ExportOptions(variants=("int8",)), overwrite=True)
        index_bundle(rankers, documents, path, overwrite=True)

    kept = f"{COLLECTION}.{name}.{STEPS}.ranklet"
    return place.keep(kept, build, (*CODE, *EPIC))
