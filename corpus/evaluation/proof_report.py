"""The proof of an exported variant: how its scores of real pairs compare with PyTorch's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.evaluation.ranked import ndcg
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.storage.address import BundleLike

TOP = 10
STORED = "stored "  # how the names of stored forms begin
REPORT = "report.json"  # in rankers/NAME/
# Kendall's τ from which on no other form of a variant is tried, and none that is as slow as fp32.
# MiniLM's int8 has .97 as a RepBERT and .96 as an EPIC, and twice the speed of fp32 (RESULTS.md).
FAITHFUL, USABLE = 0.97, 0.9


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a variant, a table or an index compares with PyTorch.

    Attributes:
        max_error: largest difference of a score, as a share of the standard deviation of
            PyTorch's scores.
        kendall: Kendall's τ-b of the documents' order, mean over queries.
        overlap: share of PyTorch's top 10 in the variant's, mean over queries.
        same_top: share of queries with the same first document.
        ndcg: nDCG@10 of the variant.
        torch_ndcg: nDCG@10 of PyTorch.
        loss_error: standard error of the relative loss over the queries.
        variant: fp32, fp16, int8 or openvino; or table, table int8, impacts, a storage type of
            impacts, r=… for the number of values that are kept of a sparse vector, or stored … for
            a stored form of token vectors.
        pairs: scored pairs, queries × documents.
        queries: scored queries.
        documents: scored documents.
        own_queries: queries of the user's, so that the others are ranklet's own, see
            `Probes.completed`.
        own_documents: documents of the user's, likewise.
        batch_error: largest difference between a document's scores alone and among others.
        bytes: size of the files; for r=… and stored … the size of one document.
        ms: milliseconds per document, one at a time; per pair if each pair is a run of its own.
        fused: number of fused operators in the graph, by operator.
        refused: why the variant is out of tolerance; empty if it is not.
        form: how the variant was made, if there are several ways, see `FORMS` of export/onnx.
        cosine: cosine of a text's vector and PyTorch's, mean over the texts; 0 if it has none.
        least_cosine: the smallest of them.
    """

    max_error: float
    kendall: float
    overlap: float
    same_top: float
    ndcg: float
    torch_ndcg: float
    loss_error: float = 0.0
    variant: str
    pairs: int
    queries: int
    documents: int
    own_queries: int
    own_documents: int
    batch_error: float = 0.0
    bytes: int
    ms: float = 0.0
    fused: dict[str, int] = field(default_factory=dict)
    refused: str = ""
    form: str = ""
    cosine: float = 0.0
    least_cosine: float = 0.0

    @property
    def judged(self) -> bool:
        """Whether it was compared on queries with relevant documents, so that nDCG means a thing.

        PyTorch's nDCG is also 0 if it finds no relevant document, and then no loss can be measured.
        """
        return self.torch_ndcg > 0

    @property
    def ndcg_loss(self) -> float:
        """Relative loss of nDCG@10; negative if the variant happens to rank better."""
        return 1 - self.ndcg / self.torch_ndcg if self.torch_ndcg else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain values, including the loss."""
        return {**asdict(self), "ndcg_loss": self.ndcg_loss}


def read_reports(path: BundleLike) -> dict[str, list[Report]]:
    """Return the proofs in a bundle by ranker, including those of refused variants."""
    bundle = BundleFiles(path)
    proofs = {name: make_reports(bundle, name) for name in bundle.manifest.rankers}
    return {name: reports for name, reports in proofs.items() if reports is not None}


def make_reports(bundle: BundleFiles, name: str) -> list[Report] | None:
    """Return the proofs of a ranker of a bundle; None if it has none."""
    file = f"rankers/{name}/{REPORT}"
    if not bundle.has(file):
        return None
    return [make_report(row) for row in json.loads(bytes(bundle.file(file)))]


def make_report(row: Mapping[str, Any]) -> Report:
    """Return a report by what its `to_json` returned."""
    return Report(**{name: value for name, value in row.items() if name != "ndcg_loss"})


def describe_content(reports: Sequence[Report]) -> bytes:
    """Return the content of `REPORT`."""
    return json.dumps([report.to_json() for report in reports], indent=1).encode()


def compare_scores(
    variant: str,
    size: int,
    reference: NDArray[np.float32],
    scores: NDArray[np.float32],
    relevant: Sequence[Sequence[int]],
) -> Report:
    """Compare (queries, documents) scores with PyTorch's.

    Args:
        variant: the name of the variant.
        size: the variant's size in bytes.
        reference: PyTorch's scores.
        scores: the variant's scores.
        relevant: indices of the relevant documents of each query.
    """
    spread = describe_spread(reference)
    theirs, ours = (
        np.argsort(-each, axis=1, kind="stable")[:, :TOP] for each in (reference, scores)
    )
    pairs = list(zip(theirs.tolist(), ours.tolist(), strict=True))
    orders = [_kendall(a, b) for a, b in zip(reference, scores, strict=True)]
    gain, torch_gain = _ndcg(ours, relevant), _ndcg(theirs, relevant)
    return Report(
        variant=variant,
        bytes=size,
        pairs=scores.size,
        queries=len(scores),
        documents=scores.shape[1],
        own_queries=len(scores),
        own_documents=scores.shape[1],
        max_error=float(np.abs(scores - reference).max()) / spread,
        kendall=float(np.mean(orders)),
        overlap=float(np.mean([len({*a} & {*b}) / len(a) for a, b in pairs])),
        same_top=float(np.mean([a[0] == b[0] for a, b in pairs])),
        ndcg=_mean(gain),
        torch_ndcg=_mean(torch_gain),
        loss_error=_standard_error(torch_gain - gain) / max(_mean(torch_gain), 1e-9),
    )


def with_cosines(report: Report, theirs: NDArray[np.float32], ours: NDArray[np.float32]) -> Report:
    """Return a report with the cosines of vectors and PyTorch's, (texts, dimension) each."""
    lengths = np.linalg.norm(theirs, axis=1) * np.linalg.norm(ours, axis=1)
    cosines = np.where(lengths, (theirs * ours).sum(1) / np.where(lengths, lengths, 1), 1)
    return replace(report, cosine=float(cosines.mean()), least_cosine=float(cosines.min()))


def describe_spread(scores: NDArray[np.float32]) -> float:
    """Return the standard deviation of scores, of which errors are a share.

    It is at least a thousandth of the largest score. A network that says nearly the same of all
    texts, such as one that learned nothing, differs from itself by rounding.
    """
    return max(float(scores.std()), 1e-3 * float(np.abs(scores).max(initial=0.0)), 1e-9)


def report_table(reports: Sequence[Report]) -> str:
    """Return the reports as a table in plain text; nDCG and its loss only if there are judgements.

    The columns top 10 and top 1 are `overlap` and `same_top`; least is `least_cosine`.
    """
    judged, vectors = any(each.judged for each in reports), any(each.cosine for each in reports)
    wide = max(7, *(len(each.variant) for each in reports)) + 1
    lines = [
        f"{'variant':{wide}}{'max error':>10}"
        + (f"{'cosine':>8}{'least':>8}" if vectors else "")
        + f"{'Kendall':>9}{'top 10':>8}{'top 1':>7}"
        + (f"{'nDCG@10':>9}{'loss':>8}" if judged else "")
        + f"{'batch':>8}{'MB':>8}{'ms/doc':>8}"
    ]
    lines += [
        f"{each.variant:{wide}}{each.max_error:10.2%}"
        + (f"{each.cosine:8.4f}{each.least_cosine:8.4f}" if vectors else "")
        + f"{each.kendall:9.4f}{each.overlap:8.1%}{each.same_top:7.1%}"
        + (f"{each.ndcg:9.4f}{each.ndcg_loss:8.2%}" if judged else "")
        + f"{each.batch_error:8.2%}{each.bytes / 1e6:8.1f}{each.ms:8.2f}"
        + (f"  REFUSED: {each.refused}" if each.refused else "")
        for each in reports
    ]
    first = reports[0]
    lines.append(
        f"{first.pairs:,} pairs of {first.queries:,} queries and {first.documents:,} documents"
        + ("" if judged else ", without judgements")
    )
    lines += [own] if (own := _own(first)) else []
    lines += [f"form of {each.variant}: {each.form}" for each in reports if each.form]
    lines += [
        f"fused operators of {each.variant}: "
        + ", ".join(f"{count} {name}" for name, count in each.fused.items())
        for each in reports
        if each.fused
    ]
    return "\n".join(lines)


def _own(report: Report) -> str:
    """Return how many of a report's texts are the user's, or "" if all of them are."""
    if (report.own_queries, report.own_documents) == (report.queries, report.documents):
        return ""
    if not report.own_queries and not report.own_documents:
        return "all of them are ranklet's own texts; `ranklet export --texts` proves on yours"
    return (
        f"{report.own_queries:,} of these queries and {report.own_documents:,} of these documents "
        "are yours; a proof needs more, and ranklet added them"
    )


def _ndcg(ranked: NDArray[np.intp], relevant: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return nDCG@10 with binary grades, for each query that has a relevant document."""
    values = []
    for documents, wanted in zip(ranked.tolist(), relevant, strict=True):
        if wanted:
            hits = np.isin(documents, list(wanted)).astype(np.float64)
            values.append(ndcg(hits, np.ones(min(len(wanted), TOP))))
    return np.array(values, np.float64)


def _kendall(theirs: NDArray[np.float32], ours: NDArray[np.float32]) -> float:
    """Return τ-b; if all documents tie, 1 if both sides tie, else 0."""
    if np.ptp(theirs) == 0 or np.ptp(ours) == 0:
        return float(np.ptp(theirs) == np.ptp(ours))
    above = np.triu_indices(len(theirs), 1)  # every pair of documents once
    first, second = (np.sign(np.subtract.outer(each, each)[above]) for each in (theirs, ours))
    untied = [float(np.sqrt(np.count_nonzero(each))) for each in (first, second)]
    return min(1.0, max(-1.0, float(first @ second) / untied[0] / untied[1]))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
