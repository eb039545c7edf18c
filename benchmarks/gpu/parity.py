"""Parity of every neural kind: PyTorch and onnxruntime on the GPU, in 32 and in 16 bits.

The reference is PyTorch in 32 bits on the processor. The comparison and the tolerances are those of
the export's proof.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu.checkpoints import checkpoint_of
from benchmarks.gpu.networks import EXACT, HALF, Networks, exported
from benchmarks.gpu.setting import Result, Setting, attempts, failure
from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import prove, why_refused
from ranklet.runtime.onnx.session import Runs

TORCH, ONNXRUNTIME = "PyTorch", "onnxruntime"
HEAD = (
    "kind", "largest error", "mean error", "Kendall τ", "top 10", "batch error", "tolerance",
)  # fmt: skip
ABOUT = """
- The reference is PyTorch in 32 bits on the processor. An *error* is a share of the standard \
deviation of its scores; *batch error* compares a document's score alone and among others.
- The tolerances are the export's: for fp32 top 10 ≥ 99 %, batch error ≤ 0.1 % and a loss of \
nDCG@10 ≤ 0.1 %; for fp16 80 %, 1 % and 1 %. Nothing here multiplies fp32 as TF32.
- The networks learned for a few steps only, or are imported (dense). fp16 of PyTorch is autocast.
"""


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per kind, library and variant."""
    if setting.device == "cuda":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
    yield from attempts(setting, [(kind, kind) for kind in setting.kinds], partial(_kind, setting))


def _kind(setting: Setting, name: str, kind: str) -> Iterator[Result]:
    try:
        checkpoint = checkpoint_of(kind, setting, setting.device)
    except Exception as error:  # a fault of training on the GPU, and no reason not to compare
        if setting.device == "cpu":
            raise
        yield failure(f"{name}, training on {setting.device}", error)
        checkpoint = checkpoint_of(kind, setting, "cpu")
    networks = exported(kind, checkpoint, setting.work / f"gpu.{kind}.ranklet")
    contenders = [
        (f"{name}, {library}, {variant}", (library, variant))
        for library in (TORCH, ONNXRUNTIME)
        for variant in (EXACT, HALF)
    ]
    yield from attempts(setting, contenders, partial(_compare, networks, setting.device))


def _compare(
    networks: Networks, device: str, label: str, contender: tuple[str, str]
) -> Iterator[Result]:
    library, variant = contender
    if library == TORCH:
        yield compared(label, networks, variant, networks.by_torch(variant, device))
    elif networks.has(variant):
        yield compared(label, networks, variant, networks.by_onnxruntime(variant, device))
    else:
        yield Result((label, "not compared: the export's proof on the processor refused it"))


def compared(label: str, networks: Networks, variant: str, sessions: Sequence[Runs]) -> Result:
    """Return the row of some sessions' scores of the probes."""
    scored: list[NDArray[np.float32]] = []

    def score(texts: Probes) -> NDArray[np.float32]:
        scored.append(networks.score(sessions, texts))
        return scored[-1]

    report = prove(variant, [], networks.reference, score, networks.probes)
    return row(label, report, mean_error(networks.reference, scored[0]))


def mean_error(reference: NDArray[np.float32], scores: NDArray[np.float32]) -> float:
    """Return the mean difference of a score, as a share of the reference's standard deviation.

    >>> mean_error(np.array([[0.0, 2.0]], np.float32), np.array([[0.0, 2.5]], np.float32))
    0.25
    """
    return float(np.abs(scores - reference).mean()) / max(float(reference.std()), 1e-9)


def row(label: str, report: Report, mean: float) -> Result:
    """Return a row of the table, with the verdict of the export's tolerance."""
    refused = why_refused(report, ExportOptions())
    return Result(
        (
            label,
            f"{report.max_error:.3%}",
            f"{mean:.4%}",
            f"{report.kendall:.4f}",
            f"{report.overlap:.1%}",
            f"{report.batch_error:.3%}",
            f"**missed** ({refused})" if refused else "met",
        )
    )
