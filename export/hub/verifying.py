"""Compare the graphs of a folder that others read with the model that they were made of."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.errors import ExportError
from ranklet.export.hub.writing import GRAPHS, as_others
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import prove, why_refused
from ranklet.export.proof.vectors import VectorScore
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.text.tokenizing import encode, open_tokenizer
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import SHARDS, WEIGHTS
from ranklet.training.imported.tokenizer import TOKENIZER


def has_weights(path: str | Path) -> bool:
    """Return whether a folder also has the weights that its graphs were made of."""
    return any((Path(path) / name).is_file() for name in (WEIGHTS, SHARDS))


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
    _check_tokenizer(
        Path(folder) / TOKENIZER, job, (*model.probes.queries, *model.probes.documents)
    )
    reference = model.score([TorchSession(model.graph.module)], model.probes)
    names: Mapping[str, str] = {file: variant for variant, file in VARIANTS.items()}
    texts = len(model.probes.queries) + len(model.probes.documents)
    reports = []
    for path in sorted(Path(folder).glob(f"{GRAPHS}*.onnx")):
        content, variant = path.read_bytes(), names.get(path.name, path.stem)
        session = Session(content, path.name, device="cpu")
        report = prove(
            variant, [(content,)], reference, partial(model.score, [session]), model.probes
        )
        if isinstance(model.score, VectorScore):
            report = model.score.with_cosines(report)
        report = replace(report, ms=report.ms / (model.runs or texts))
        reports.append(replace(report, refused=why_refused(report, options)))
    return reports


def _check_tokenizer(path: Path, job: ExportJob, texts: tuple[str, ...]) -> None:
    own, theirs = job.tokenizer(), open_tokenizer(path.read_bytes(), TOKENIZER)
    for text in texts:
        if encode(own, text, special=True).ids != encode(theirs, text, special=True).ids:
            raise ExportError(
                f"{str(path)!r} is the tokenizer of another model: it reads {text!r:.60} otherwise"
            )
