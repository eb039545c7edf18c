"""Bundles of light vectors for benchmarks of time and memory, which do not depend on quality."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.built.bundles import ENCODED_TOKENS
from benchmarks.built.late_interaction import BUNDLE, qa_mix_colbert
from benchmarks.built.trained import HELD_OUT, LEARN, all_cores, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.srm import training as srm
from ranklet.training.rankers.srm.options import Options

# A short distillation without fine-tuning: weights do not change how long anything takes.
SHORT: dict[str, Any] = {"distil_texts": 2_000, "distil_steps": 50, "fine_tune": False}
LEARNING, TUNING = 500, 100  # queries
STATIC: dict[str, Any] = {"context": "neighbours", "window": 1}  # no network reads a query
LCM: dict[str, Any] = {"context": "oracle", "window": 1}  # the thesis's
CODE = (
    *BUNDLE,
    "training/rankers/srm",
    "training/imported",
    "export/rankers/srm",
    "export/rankers/dense",
    "runtime/rankers/srm",
    "runtime/rankers/dense.py",
    "runtime/dense",
    "benchmarks/built/static_bundles.py",
)


def qa_mix_static_bundle(place: Place) -> Path:
    """Return an indexed bundle of qa-mix: BM25, MiniLM-L6 as it comes, and static light vectors.

    Of documents, MiniLM-L6 has encoded the first `ENCODED_TOKENS` tokens, which changes nothing for
    a query.
    """

    def build(path: Path) -> None:
        dense, light = read_model(wheel_folder()), _light(place, STATIC)
        settings = replace(dense.settings, max_document_tokens=ENCODED_TOKENS)
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned_bm25(place, "qa-mix")),
            "dense": replace(dense, settings=settings, probes=light.probes),
            "light": light,
        }
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, overwrite=True)
        index_bundle(rankers, place.collection("qa-mix"), path, overwrite=True)

    return place.keep("qa-mix-static.ranklet", build, CODE)


def lcm_bundle(place: Place) -> Path:
    """Return a bundle of the thesis's light vectors, whose context is the oracle; not indexed."""
    return place.keep(
        "lcm.ranklet", lambda path: export_bundle({"light": _light(place, LCM)}, path), CODE
    )


def _light(place: Place, changes: dict[str, Any]) -> Checkpoint:
    collection = place.collection("qa-mix")
    options = Options(
        oracle=qa_mix_colbert(place), bm25=tuned_bm25(place, "qa-mix"), **SHORT, **changes
    )
    with all_cores():
        return srm.train(
            collection,
            read_split(collection, LEARN, limit=LEARNING),
            read_split(collection, HELD_OUT, limit=TUNING),
            options,
        )
