"""The proof of an exported variant: its scores beside PyTorch's, on real pairs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.training.evaluation.measures import discount

TOP = 10
REPORT = "report.json"  # in rankers/NAME/


@dataclass(frozen=True)
class Tolerance:
    """What a variant must hold to.

    Attributes:
        max_ndcg_loss: largest relative loss of nDCG@10 against PyTorch.
        min_overlap: least share of PyTorch's top 10 that is in its own, mean over queries.
        max_batch_error: largest difference of a score between alone and among others, as a share
            of the standard deviation of PyTorch's scores.
    """

    max_ndcg_loss: float = 0.01
    min_overlap: float = 0.8
    max_batch_error: float = 0.01


# An fp32 graph is the same computation in another order: what it changes is a fault, not noise.
EXACT = Tolerance(max_ndcg_loss=0.001, min_overlap=0.99, max_batch_error=0.001)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How scores compare with PyTorch's.

    Attributes:
        max_error: largest difference of a score, as a share of the standard deviation of
            PyTorch's scores.
        kendall: Kendall's τ-b of the documents' order, mean over queries.
        overlap: share of PyTorch's top 10 in the variant's, mean over queries.
        same_top: share of queries with the same first document.
        ndcg: nDCG@10; and what it is with PyTorch.
        loss_error: standard error of the loss, over the queries: what chance may have added.
    """

    max_error: float
    kendall: float
    overlap: float
    same_top: float
    ndcg: float
    torch_ndcg: float
    loss_error: float = 0.0

    @property
    def ndcg_loss(self) -> float:
        """Relative loss of nDCG@10; negative where the variant happens to rank better."""
        return 1 - self.ndcg / self.torch_ndcg if self.torch_ndcg else 0.0


@dataclass(frozen=True, kw_only=True)
class Report(Agreement):
    """What was found of a variant.

    Attributes:
        variant: fp32, fp16, int8, or table; r=… of a sparse vector's pruning, whose bytes are a
            document's.
        pairs: scored pairs, queries × documents.
        batch_error: largest difference of a score between alone and among others, as run.
        bytes: size of the file.
        ms: milliseconds a document, one at a time; of a cross-encoder a pair.
        fused: fused operators in the graph.
        refused: why the variant is out of tolerance; empty where it is not.
    """

    variant: str
    pairs: int
    batch_error: float
    bytes: int
    ms: float
    fused: dict[str, int]
    refused: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain values, the loss among them."""
        return {**asdict(self), "ndcg_loss": self.ndcg_loss}


def read_reports(path: str | Path) -> dict[str, list[Report]]:
    """Return the proofs in a bundle, refused variants among them, by ranker."""
    bundle = BundleFiles(path)
    found = {name: reports_of(bundle, name) for name in bundle.manifest.rankers}
    return {name: reports for name, reports in found.items() if reports is not None}


def reports_of(bundle: BundleFiles, name: str) -> list[Report] | None:
    """Return the proofs of a ranker of a bundle; None where it has none."""
    file = f"rankers/{name}/{REPORT}"
    if not bundle.has(file):
        return None
    rows = json.loads(bytes(bundle.file(file)))
    return [Report(**{k: value for k, value in row.items() if k != "ndcg_loss"}) for row in rows]


def compare_scores(
    reference: NDArray[np.float32], scores: NDArray[np.float32], relevant: Sequence[Sequence[int]]
) -> Agreement:
    """Compare (queries, documents) scores with PyTorch's.

    Args:
        reference: PyTorch's scores.
        scores: the variant's.
        relevant: for each query, the places of its relevant documents.
    """
    from scipy.stats import kendalltau

    spread = max(float(reference.std()), 1e-9)
    wanted = np.argsort(-reference, axis=1, kind="stable")[:, :TOP]
    found = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    pairs = list(zip(wanted.tolist(), found.tolist(), strict=True))
    orders = [kendalltau(a, b).statistic for a, b in zip(reference, scores, strict=True)]
    ours, theirs = _ndcg(found, relevant), _ndcg(wanted, relevant)
    return Agreement(
        max_error=float(np.abs(scores - reference).max()) / spread,
        kendall=float(np.mean(orders)),
        overlap=float(np.mean([len({*a} & {*b}) / len(a) for a, b in pairs])),
        same_top=float(np.mean([a[0] == b[0] for a, b in pairs])),
        ndcg=_mean(ours),
        torch_ndcg=_mean(theirs),
        loss_error=_standard_error(theirs - ours) / max(_mean(theirs), 1e-9),
    )


def refusal(report: Report, tolerance: Tolerance) -> str:
    """Return why a variant is out of tolerance, or "" where it is not."""
    found = []
    if report.ndcg_loss > tolerance.max_ndcg_loss:
        found.append(
            f"nDCG@10 loss {report.ndcg_loss:.2%} > {tolerance.max_ndcg_loss:.2%}, standard error "
            f"{report.loss_error:.2%}: more probes tell it from chance"
        )
    if report.overlap < tolerance.min_overlap:
        found.append(f"top-10 overlap {report.overlap:.1%} < {tolerance.min_overlap:.1%}")
    if report.batch_error > tolerance.max_batch_error:
        found.append(f"batch error {report.batch_error:.2%} > {tolerance.max_batch_error:.2%}")
    return "; ".join(found)


def report_table(reports: Sequence[Report]) -> str:
    """Return the reports as a table in plain text."""
    lines = [
        f"{'variant':8}{'max error':>10}{'Kendall':>9}{'top 10':>8}{'top 1':>7}{'nDCG@10':>9}"
        f"{'loss':>8}{'batch':>8}{'MB':>8}{'ms/doc':>8}"
    ]
    lines += [
        f"{each.variant:8}{each.max_error:10.2%}{each.kendall:9.4f}{each.overlap:8.1%}"
        f"{each.same_top:7.1%}{each.ndcg:9.4f}{each.ndcg_loss:8.2%}{each.batch_error:8.2%}"
        f"{each.bytes / 1e6:8.1f}{each.ms:8.2f}"
        + (f"  REFUSED: {each.refused}" if each.refused else "")
        for each in reports
    ]
    lines.append(f"{reports[0].pairs:,} pairs")
    lines += [
        f"fused operators of {each.variant}: "
        + ", ".join(f"{count} {name}" for name, count in each.fused.items())
        for each in reports
        if each.fused
    ]
    return "\n".join(lines)


def _ndcg(ranked: NDArray[np.intp], relevant: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """nDCG@10 with binary grades of each query that has a relevant document."""
    values = []
    for places, wanted in zip(ranked.tolist(), relevant, strict=True):
        if wanted:
            hit = np.isin(places, list(wanted)).astype(np.float64)
            ideal = discount(np.arange(1, min(len(wanted), TOP) + 1)).sum()
            values.append(float(hit @ discount(np.arange(1, len(places) + 1)) / ideal))
    return np.array(values, np.float64)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
