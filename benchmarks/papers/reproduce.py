"""Rank a paper's own collection with its published weights, beside the paper's table.

    python -m benchmarks.papers.reproduce PAPER CHECKPOINT [--queries N] [--data FOLDER]

CHECKPOINT is the weights' folder (docs/models.md says how pickles become safetensors). The
collection is fetched by ir_datasets, 3 GB for MS MARCO, whose passages an encoder on a GPU takes a
night for. The status is 0 if every value is within the tolerance of the paper's, and else 1.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness.place import ROOT
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.irds import write_dataset
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.systems import Evaluation, evaluate
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model

SPLIT, RANKER = "dev", "network"
MS_MARCO = "msmarco-passage/dev/small"  # 6,980 queries
BM25 = BM25Settings("lemmas", k1=0.82, b=0.68)  # Anserini's for these passages
TOLERANCE = 0.01  # two standard errors of MRR@10 over the queries of MS MARCO


@dataclass(frozen=True)
class Paper:
    """A row of a paper's table, and how it is computed.

    Attributes:
        source: the paper, its table, and where its weights are.
        published: the paper's values by measure.
        reads: how many of BM25's documents are ranked anew; 0 where the network retrieves.
        choices: of `read_model`.
        options: of the export, beside its variants.
        dataset: of ir_datasets.
    """

    source: str
    published: Mapping[str, float]
    reads: int = 1000
    choices: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = MS_MARCO

    def pipeline(self) -> list[dict[str, Any]]:
        """Return the stages of the row."""
        if not self.reads:
            return [{"stage": "retrieve", "ranker": RANKER, "k": 1000}]
        first = {"stage": "retrieve", "ranker": "bm25", "k": self.reads}
        return [first, {"stage": "rescore", "ranker": RANKER}]


def _marked(marking: str, value: float) -> Paper:
    name = f"bert-{marking.replace('_', '-')}"
    source = f"Boualili 2022, table A.1; LilaBoualili/{name} on the Hugging Face hub"
    return Paper(
        source, {"MRR@10": value}, choices={} if marking == "vanilla" else {"marking": marking}
    )


# Boytsov & Kolter and Mitra et al. published no weights, and SRM's thesis neither.
PAPERS = {
    "epic": Paper(
        "MacAvaney et al. 2020, table 1, r = 1000; the archive of OpenNIR's EPIC",
        {"MRR@10": 0.272},
        reads=99,  # as its README says
        options={"prune": 1000},
    ),
    "repbert": Paper(
        "Zhan et al. 2020, table 1; the checkpoint of jingtaozhan/RepBERT-Index",
        {"MRR@10": 0.304, "R@1000": 0.943},
        reads=0,
        options={"settings": {"search": "exhaustive"}},
    ),
    "vanilla": _marked("vanilla", 0.3634),
    "sim_doc": _marked("sim_doc", 0.3548),
    "sim_pair": _marked("sim_pair", 0.3606),
    "pre_doc": _marked("pre_doc", 0.3262),
    "pre_pair": _marked("pre_pair", 0.3154),
}


def reproduce(
    paper: Paper, checkpoint: Path, work: Path, *, queries: int | None = None
) -> list[Evaluation]:
    """Return the values of BM25 and of the paper's row; what is built in `work` is kept.

    Args:
        paper: the row.
        checkpoint: the folder of its weights.
        work: a folder for the collection and the bundle, whose name has the paper and its weights.
        queries: how many queries to rank, drawn at random; None for all.
    """
    place = work / paper.dataset.replace("/", "-")
    if not place.exists():
        write_dataset(place, {SPLIT: paper.dataset})
    collection, bundle = Collection(place), work / f"{checkpoint.name}.ranklet"
    if not bundle.exists():
        models = {
            "bm25": Checkpoint("bm25", BM25), RANKER: read_model(checkpoint, **paper.choices)
        }  # fmt: skip
        options = ExportOptions(variants=("fp32",), **paper.options)
        exported = export_bundle(models, work / f"{checkpoint.name}.rankers", options)
        index_bundle(exported, collection, bundle)
    words = [{"stage": "retrieve", "ranker": "bm25", "k": 1000}]
    pipelines: dict[str, Any] = {"BM25": words, "the paper's": paper.pipeline()}
    judged = read_split(collection, SPLIT, limit=queries)
    return evaluate(load(bundle), judged, pipelines, measures=list(paper.published))


def compare(
    paper: Paper, found: Sequence[Evaluation], tolerance: float = TOLERANCE
) -> tuple[str, bool]:
    """Return a table of the values beside the paper's, and whether all are within the tolerance."""
    bm25, row = found
    lines, held = (
        [paper.source, f"{'':8} {'BM25':>7} {'here':>7} {'paper':>7}  {row.queries} queries"],
        True,
    )
    for measure, value in paper.published.items():
        near = abs(row.mean(measure) - value) <= tolerance
        held &= near
        said = f"within {tolerance:g}" if near else f"{row.mean(measure) - value:+.4f}"
        lines.append(
            f"{measure:8} {bm25.mean(measure):7.4f} {row.mean(measure):7.4f} {value:7.4f}  {said}"
        )
    return "\n".join(lines), held


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce a row, print it, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.reproduce")
    parser.add_argument("paper", choices=PAPERS, help="which row")
    parser.add_argument("checkpoint", type=Path, help="folder of the published weights")
    parser.add_argument("--queries", type=int, help="how many queries (default: all)")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--work", type=Path, default=ROOT / "work" / "reproduce")
    options = parser.parse_args(arguments)
    paper = PAPERS[options.paper]
    if not options.checkpoint.is_dir():
        parser.error(f"{str(options.checkpoint)!r} is no folder; it is for {paper.source}")
    found = reproduce(paper, options.checkpoint, options.work, queries=options.queries)
    table, held = compare(paper, found, options.tolerance)
    print(table)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
