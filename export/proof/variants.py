"""Writing the variants of an encoder that hold to their tolerance, and none that does not."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.graph import fused_operators
from ranklet.export.onnx.variants import convert
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import REPORT, Report, compare_scores, refusal
from ranklet.export.writer import BundleWriter
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import Probes

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Makes scores of an ONNX file's content: (queries, documents) float32, and the same of a few
# documents when each is scored alone.
Score = Callable[[bytes, Probes], NDArray[np.float32]]
# The same of the contents of several files, which make one ranker together.
JointScore = Callable[[Sequence[bytes], Probes], NDArray[np.float32]]

# Documents scored alone, to compare with the same among others, and by how many of the queries: a
# query's vector is the same each time, and each pair of a cross-encoder another difference.
ALONE, ASKED_ALONE = 8, 25


def proof_of(
    checkpoint: Checkpoint, name: str, options: ExportOptions
) -> tuple[Probes, "Tokenizer"]:
    """Return the texts that a checkpoint's variants are proven on, and what cuts them.

    Raises:
        ExportError: there are none.
    """
    probes = options.probes or checkpoint.probes
    if probes is None or checkpoint.tokenizer is None:
        raise ExportError(
            f"{name!r} has no probes to prove its variants on; give --probes COLLECTION"
        )
    return probes, checkpoint.tokenizer


def check_tokenizer(tokenizer: "Tokenizer", rows: int, name: str) -> None:
    """Raise ExportError where a tokenizer gives ids that the embeddings, `rows`, do not have."""
    size = tokenizer.get_vocab_size()
    if size > rows:
        raise ExportError(
            f"the tokenizer of {name!r} has {size:,} tokens and the network's embeddings {rows:,} "
            "rows: it is not the model's own"
        )


class Graph(NamedTuple):
    """A graph that variants are made of."""

    source: Path  # fp32
    folder: str  # in the bundle, where the variants go; ends with a slash
    calibration: Sequence[Feeds] = ()  # feeds of real texts, for int8


def write_variants(
    source: Path,
    reference: NDArray[np.float32],
    score: Score,
    probes: Probes,
    options: ExportOptions,
    folder: str,
    writer: BundleWriter,
    calibration: Sequence[Feeds] = (),
    *,
    pairwise: bool = False,
) -> list[Report]:
    """Convert, prove and write each variant asked for.

    Args:
        source: the fp32 graph.
        reference: PyTorch's scores of the probes, (queries, documents) float32.
        score: the runtime's scores of the probes, by a variant's content.
        probes: real texts.
        options: variants and tolerances.
        folder: in the bundle, ``rankers/NAME/``.
        writer: of the bundle.
        calibration: feeds of real texts, for int8.
        pairwise: whether each pair is a run of its own, not each text: the time is a pair's then.

    Raises:
        ExportError: no variant holds to its tolerance; nothing is written then.
    """
    graph = Graph(source, folder, calibration)
    return write_joint_variants(
        [graph], reference, lambda contents, texts: score(contents[0], texts), probes,
        options, writer, pairwise=pairwise,
    )  # fmt: skip


def write_joint_variants(
    graphs: Sequence[Graph],
    reference: NDArray[np.float32],
    score: JointScore,
    probes: Probes,
    options: ExportOptions,
    writer: BundleWriter,
    *,
    pairwise: bool = False,
) -> list[Report]:
    """Convert, prove and write each variant of several graphs, which serve together.

    Args:
        graphs: to convert.
        reference: PyTorch's scores of the probes, (queries, documents) float32.
        score: the runtime's scores of the probes, by the variant's contents, in the graphs' order.
        probes: real texts.
        options: variants and tolerances.
        writer: of the bundle.
        pairwise: as in `write_variants`.

    Raises:
        ExportError: no variant holds to its tolerance; nothing is written then.
    """
    reports = []
    with tempfile.TemporaryDirectory() as scratch:
        for variant in options.variants:
            target = Path(scratch) / VARIANTS[variant]
            contents = []
            for graph in graphs:
                convert(variant, graph.source, target, graph.calibration)
                contents.append(target.read_bytes())
            report = _prove(variant, contents, reference, score, probes)
            if pairwise:
                texts = len(probes.queries) + len(probes.documents)
                report = replace(report, ms=report.ms * texts / report.pairs)
            report = replace(report, refused=_refused(report, options))
            reports.append(report)
            if not report.refused:
                for graph, content in zip(graphs, contents, strict=True):
                    writer.data(graph.folder + VARIANTS[variant], content)
    if all(report.refused for report in reports):
        told = "; ".join(f"{report.variant}: {report.refused}" for report in reports)
        raise ExportError(f"no variant holds to its tolerance, so nothing is written ({told})")
    return reports


def write_reports(reports: Sequence[Report], folder: str, writer: BundleWriter) -> None:
    """Write the proofs of a ranker's variants into its folder."""
    content = json.dumps([report.to_json() for report in reports], indent=1)
    writer.data(folder + REPORT, content.encode())


def _prove(
    variant: str,
    contents: Sequence[bytes],
    reference: NDArray[np.float32],
    score: JointScore,
    probes: Probes,
) -> Report:
    begin = perf_counter()
    scores = score(contents, probes)
    seconds = perf_counter() - begin
    spread = max(float(reference.std()), 1e-9)
    few = probes.first(ASKED_ALONE, ALONE)
    apart = [
        np.abs(score(contents, replace(few, documents=(text,)))[:, 0] - scores[:ASKED_ALONE, at])
        for at, text in enumerate(few.documents)
    ]
    texts = len(probes.queries) + len(probes.documents)
    return Report(
        variant=variant,
        pairs=scores.size,
        batch_error=float(np.max(apart)) / spread,
        bytes=sum(map(len, contents)),
        ms=seconds * 1e3 / texts,
        fused=_fused(contents),
        **asdict(compare_scores(reference, scores, probes.relevant)),
    )


def _fused(contents: Sequence[bytes]) -> dict[str, int]:
    """Return how many of each fused operator some graphs have together."""
    from onnx import ModelProto

    counts: Counter[str] = Counter()
    for content in contents:
        counts.update(fused_operators(ModelProto.FromString(content)))
    return dict(counts)


def _refused(report: Report, options: ExportOptions) -> str:
    found = [refusal(report, options.tolerance(report.variant))]
    if options.max_mb is not None and report.bytes > options.max_mb * 1e6:
        found.append(f"{report.bytes / 1e6:.1f} MB > {options.max_mb} MB")
    return "; ".join(each for each in found if each)
