"""What exported networks in 8 bits reach through the runtime; the scores of pairs are kept."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import all_cores
from benchmarks.cross_encoders.candidates import Lists
from benchmarks.cross_encoders.comparing import Row, Values, alone, mean_of, with_bm25
from benchmarks.cross_encoders.trainings import minutes
from benchmarks.harness.place import Place
from ranklet import runtime
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

NAME = "cross"
SERVED = "int8"
# A bundle always has 32 bits, too, which serve a network whose 8 bits are not faithful.
EXPORT = ExportOptions(variants=("fp32", SERVED))
PROVEN = 12, 15  # queries and documents of the proof, whose pairs take as long as 180 candidates
EXPORTING = (
    "export/onnx",
    "export/proof",
    "export/rankers/cross_encoder.py",
    "training/rankers/cross_encoder",
)
SCORING = (*EXPORTING, "runtime/onnx", "runtime/text", "runtime/rankers/cross_encoder")


def exported(
    place: Place, path: Path, changes: Mapping[str, Any], options: ExportOptions = EXPORT
) -> Path:
    """Return the bundle of a trained network alone, without a collection.

    Args:
        place: of the run.
        path: the checkpoint's folder.
        changes: settings to serve with that differ from those of the training.
        options: of the export; its probes are replaced by some of the checkpoint's.
    """
    checkpoint = _changed(path, changes)

    def build(target: Path) -> None:
        if checkpoint.probes is None:
            raise ValueError(f"{path} has no probes")
        probes = checkpoint.probes.nearest(*PROVEN)
        with all_cores():
            export_bundle(
                {NAME: checkpoint}, target, replace(options, probes=probes), overwrite=True
            )

    return place.keep(f"cross.{checkpoint.digest[:16]}.ranklet", build, EXPORTING)


def scores(
    place: Place, bundle: Path, path: Path, changes: Mapping[str, Any], lists: Lists
) -> list[NDArray[np.float32]]:
    """Return the scores of each query's candidates, (candidates,) float32 each.

    Args:
        place: of the run.
        bundle: from `exported`.
        path: the checkpoint's folder.
        changes: as for `exported`.
        lists: the queries and their candidates.
    """
    digest = hashlib.sha256((_changed(path, changes).digest + lists.digest).encode()).hexdigest()

    def build(target: Path) -> None:
        loaded = runtime.load(bundle, device="cpu")
        found = [
            loaded.score(query.text, [lists.texts[each] for each in ids])
            if ids
            else np.zeros(0, np.float32)
            for query, ids in zip(lists.queries, lists.ids, strict=True)
        ]
        with target.open("wb") as file:
            np.save(file, np.concatenate(found))

    kept = np.load(place.keep(f"cross.{digest[:16]}.scores.npy", build, SCORING))
    return np.split(kept, np.cumsum([len(ids) for ids in lists.ids])[:-1])


def row(
    place: Place,
    label: str,
    paths: Sequence[Path],
    lists: Lists,
    *,
    changes: Mapping[str, Any] | None = None,
    options: ExportOptions = EXPORT,
    base: Sequence[Values] = (),
    notes: tuple[str, ...] = (),
) -> Row:
    """Return the row of a system, alone and with BM25, as the mean over its seeds.

    Args:
        place: of the run.
        label: of the row.
        paths: the checkpoints' folders, one per seed.
        lists: the queries and their candidates.
        changes: as for `exported`.
        options: of the export.
        base: what each seed of the system that it is compared with reaches, which has at least as
            many seeds; empty for nothing.
        notes: further columns.
    """
    changes = changes or {}
    own: list[Values] = []
    fused: list[Values] = []
    alphas: list[float] = []
    for path in paths:
        bundle = exported(place, path, changes, options)
        found = scores(place, bundle, path, changes, lists)
        own.append(alone(lists, found))
        both, shares = with_bm25(lists, found)
        fused.append(both)
        alphas.extend(shares)
    against = mean_of(base[: len(own)]) if base else None
    return Row(label, mean_of(own), tuple(own), against, mean_of(fused), tuple(alphas), notes)


def course(paths: Sequence[Path]) -> tuple[str, str]:
    """Return the held-out MRR@10 before and after trainings, and their minutes, of all seeds.

    Both are of the weights that are kept, so they are equal if the first ones are.
    """
    found = [read_checkpoint(path) for path in paths]
    before, after = (
        float(np.mean([each.training["comparison"][when] for each in found]))
        for when in ("before", "after")
    )
    return f"{before:.2f} → {after:.2f}", f"{sum(minutes(each) for each in found):.1f}"


def is_int8(bundle: Path) -> bool:
    """Return whether a network is served in 8 bits."""
    return BundleFiles(bundle).has(f"rankers/{NAME}/{VARIANTS[SERVED]}")


def _changed(path: Path, changes: Mapping[str, Any]) -> Checkpoint:
    checkpoint = read_checkpoint(path)
    return replace(checkpoint, settings=replace(checkpoint.settings, **changes))
