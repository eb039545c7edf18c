"""Write a model as the folder that transformers.js, FastEmbed and onnxruntime's users read."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from ranklet.corpus.building.writer import BundleWriter, check_listed, sha256
from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.hub.card import card
from ranklet.export.hub.files import transformer_places, write_files
from ranklet.export.jobs import ExportJob
from ranklet.export.options import ExportOptions
from ranklet.export.proof.as_others import AsOthers
from ranklet.export.proof.variants import export_proven, with_own
from ranklet.export.vocabulary.cutting import lighten
from ranklet.runtime.onnx.parity import PARITY
from ranklet.runtime.writing.atomic_folder import atomic_folder
from ranklet.runtime.writing.strangers import files_in
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import PROOF

VARIANTS = ("fp32", "fp16", "int8")


@dataclass(frozen=True)
class HubJob(ExportJob):
    """An export whose graphs are in the folder that others look into."""

    @property
    def folder(self) -> str:
        """The whole folder; graphs lie in folders of theirs."""
        return ""

    @property
    def parity(self) -> str:
        """The file lies at the top of the folder."""
        return PARITY


class _Folder:
    """Writes files into a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def data(self, name: str, content: bytes) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def export_hub(
    checkpoint: Checkpoint,
    original: Path | None,
    target: str | Path,
    options: ExportOptions,
    *,
    name: str,
    overwrite: bool = False,
) -> list[Report]:
    """Write a model's graphs, its small files and a model card, and return the proofs.

    Args:
        checkpoint: the model.
        original: the folder that it was read from, whose small files are copied; None for a
            checkpoint of ranklet, for which they are made.
        target: the folder to write.
        options: the variants to make, and their tolerances.
        name: what the card calls the model.
        overwrite: whether an earlier folder of this kind is replaced.

    Raises:
        BuildError: the target exists.
        ExportError: other libraries cannot run the model, or no variant is within its tolerance.
    """
    if unknown := [each for each in options.variants if each not in VARIANTS]:
        raise ExportError(
            f"other libraries have no variant {unknown[0]}; allowed are {', '.join(VARIANTS)}"
        )

    check = partial(check_target, overwrite=overwrite)
    with atomic_folder(Path(target).absolute(), check) as folder:
        own = cast("BundleWriter", _Folder(folder))
        job = lighten(HubJob(checkpoint, name, own, options))
        model, places = as_others(job), transformer_places(original)
        proof = export_proven(
            job, model.place(places), model.score, model.probes, variants=VARIANTS, runs=model.runs
        )
        reports = with_own(proof.reports, model.probes)
        front = write_files(checkpoint, original, folder)
        text = card(name, checkpoint, model, reports, front)
        (folder / "README.md").write_text(text, "utf-8")
        files = {name: sha256(folder / name) for name in files_in(folder)}
        described = {"files": files, "reports": [each.to_json() for each in reports]}
        (folder / PROOF).write_text(json.dumps(described, indent=1) + "\n", "utf-8")
    return reports


def check_target(path: Path, overwrite: bool) -> None:
    """Raise BuildError unless a folder of this kind may be written there."""
    if path.suffix == ".zip":
        raise ExportError(f"{str(path)!r} would be a folder, which others read; leave .zip out")
    check_listed(path, PROOF, overwrite=overwrite)


def as_others(job: ExportJob) -> AsOthers:
    """Return a model as other libraries run it.

    Raises:
        ExportError: its kind is ranklet's own.
    """
    made = exporter(job.checkpoint.kind).as_others
    if made is None:
        raise ExportError(
            f"{job.name!r} is a {job.checkpoint.kind}, which no other library runs; export it as a "
            "bundle, without --layout hub"
        )
    return made(job)
