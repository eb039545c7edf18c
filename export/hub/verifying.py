"""Compare the graphs of a folder that others read with the model that they were made of."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from ranklet.corpus.building.writer import BundleWriter, sha256
from ranklet.corpus.evaluation.proof_report import Report, make_report
from ranklet.corpus.faults import first_line
from ranklet.corpus.progress import step
from ranklet.export.errors import ExportError
from ranklet.export.hub.files import transformer_places
from ranklet.export.hub.folder import as_others
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import PROVING, REFERENCE, STEPS, judged, prove
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.parity import compare_parity
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.text.tokenizing import encode, open_tokenizer
from ranklet.runtime.writing.strangers import files_in
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import PROOF, SHARDS, WEIGHTS
from ranklet.training.imported.tokenizer import TOKENIZER


def has_weights(path: str | Path) -> bool:
    """Return whether a folder also has the weights that its graphs were made of."""
    return any((Path(path) / name).is_file() for name in (WEIGHTS, SHARDS))


def check_files(folder: str | Path) -> list[Report]:
    """Return the stored proofs of a folder whose bytes are all as `export_hub` wrote them.

    Raises:
        BundleError: a file was changed or is missing, or the folder has no readable proof.
    """
    path = Path(folder) / PROOF
    try:
        described = json.loads(path.read_bytes())
        files, rows = dict(described["files"]), described["reports"]
        reports = [make_report(row) for row in rows]
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise BundleError(
            f"{str(path)!r} cannot be read ({first_line(error)}), so nothing says what the graphs "
            "were; compare them with the original by --full"
        ) from error
    present = files_in(Path(folder))
    for name, digest in files.items():
        place, there = Path(folder) / name, name in present
        if not there or not place.is_file() or sha256(place) != digest:
            what = "was changed" if there else "is missing"
            raise BundleError(
                f"{str(place)!r} {what} since the export; export the model again, or compare what "
                "is there with the original by --full"
            )
    return reports


def compare_outputs(folder: str | Path) -> Iterator[str]:
    """Yield how the graphs differ from their stored outputs; nothing without onnxruntime.

    Raises:
        BundleError: see `compare_parity`.
    """
    root = Path(folder)
    yield from compare_parity(
        lambda file: (root / file).read_bytes() if (root / file).is_file() else None
    )


def verify_hub(folder: str | Path, checkpoint: Checkpoint) -> list[Report]:
    """Return how each graph of a folder scores the checkpoint's probes, next to PyTorch.

    Whoever has made the graphs, they have the names of inputs and outputs that other libraries
    read. The tokenizer must read the probes as the model's does.

    Args:
        folder: a folder with graphs in ``onnx/``.
        checkpoint: the model, with probes.

    Raises:
        ExportError: the model is one that no other library runs, its tokenizer is another one, or a
            graph lacks the output.
        BundleError: a graph or the tokenizer cannot be read.
    """
    options = ExportOptions()
    job = ExportJob(checkpoint, "model", cast("BundleWriter", None), options)
    model = as_others(job)
    graphs = model.place(transformer_places(root := Path(folder)))
    first = root / graphs[0].folder
    _check_tokenizer(
        first.parent / TOKENIZER, job, (*model.probes.queries, *model.probes.documents)
    )
    with step(REFERENCE, STEPS[REFERENCE]):
        reference = model.score([TorchSession(each.module) for each in graphs], model.probes)
    names: Mapping[str, str] = {file: variant for variant, file in VARIANTS.items()}
    texts = len(model.probes.queries) + len(model.probes.documents)
    reports = []
    for path in sorted(first.glob("*.onnx")):
        variant = names.get(path.name, path.stem)
        contents = [(root / each.folder / path.name).read_bytes() for each in graphs]
        sessions = [Session(content, path.name, device="cpu") for content in contents]
        with step(f"{PROVING} {variant}", STEPS[PROVING]):
            score, files = partial(model.score, sessions), [(content,) for content in contents]
            report = prove(variant, files, reference, score, model.probes)
        reports.append(judged(report, model.score, model.runs or texts, options))
    return reports


def _check_tokenizer(path: Path, job: ExportJob, texts: tuple[str, ...]) -> None:
    own, theirs = job.tokenizer(), open_tokenizer(path.read_bytes(), TOKENIZER)
    for text in texts:
        if encode(own, text, special=True).ids != encode(theirs, text, special=True).ids:
            raise ExportError(
                f"{str(path)!r} is the tokenizer of another model: it reads {text!r:.60} otherwise"
            )
