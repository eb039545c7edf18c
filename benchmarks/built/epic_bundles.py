"""EPIC's bundles: learned from qa-mix, and for scifact from its claims, too."""

from pathlib import Path

from benchmarks.built.trained import EPIC, qa_mix_epic, scifact_epic, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.training.checkpoint import Checkpoint

# r that documents are stored with: the curve prunes them further. scifact's 5,183 documents are few
# enough to keep all that MiniLM's vocabulary gives them.
WHOLE = 30_522
KEPT = {"qa-mix": 2000, "scifact": WHOLE}
LEARNED = {"qa-mix": qa_mix_epic, "scifact": scifact_epic}
VARIANTS = {"qa-mix": ("fp32", "fp16", "int8"), "scifact": ("fp32", "int8")}

# What such a bundle depends on. The rest of training/, export/ and runtime/ may change.
CODE = (
    *EPIC,
    "benchmarks/built/epic_bundles.py",
    "training/data/probes.py",
    "training/indexing",
    "training/rankers/bm25",
    *(f"export/{name}" for name in ("onnx", "proof", "sparse")),
    *(f"export/rankers/{name}.py" for name in ("bm25", "epic")),
    *(f"export/{name}.py" for name in ("bundles", "document_encoding", "options", "writer")),
    *(
        f"runtime/rankers/{name}.py"
        for name in ("bm25", "epic", "learned_sparse", "sparse_encoders")
    ),
    "runtime/bundles/manifest.py",
    "runtime/onnx",
    "runtime/lexical",
    "runtime/text",
)  # fmt: skip


def epic_bundle(place: Place, collection: str) -> Path:
    """Return an indexed bundle of a collection: BM25, tuned on it, and EPIC.

    The collection is encoded with int8, where that variant holds.
    """

    def build(path: Path) -> None:
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned_bm25(place, collection)),
            "epic": LEARNED[collection](place),
        }
        rankers = path.with_name(f"{path.name}.rankers")
        options = ExportOptions(variants=VARIANTS[collection], prune=KEPT[collection])
        export_bundle(checkpoints, rankers, options=options, overwrite=True)
        index_bundle(rankers, place.collection(collection), path, overwrite=True)

    return place.keep(f"{collection}-epic.ranklet", build, CODE)
