"""EPIC's bundles: learned from qa-mix, with the vectors of one collection or another."""

from pathlib import Path

from benchmarks.place import Place
from benchmarks.trained import qa_mix_epic, tuned_bm25
from ranklet.export.exporting import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.training.checkpoint import Checkpoint

KEPT = 2000  # r that documents are stored with: the curve prunes them further


def epic_bundle(place: Place, collection: str) -> Path:
    """Return an indexed bundle of a collection: BM25, tuned on it, and EPIC, learned from qa-mix.

    It is exported as fp32 and int8, and the collection is encoded with int8.
    """

    def build(path: Path) -> None:
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned_bm25(place, collection)),
            "epic": qa_mix_epic(place),
        }
        rankers = path.with_name(f"{path.name}.rankers")
        options = ExportOptions(variants=("fp32", "fp16", "int8"), prune=KEPT)
        export_bundle(checkpoints, rankers, options=options, overwrite=True)
        index_bundle(rankers, place.collection(collection), path, overwrite=True)

    return place.keep(f"{collection}-epic.ranklet", build)
