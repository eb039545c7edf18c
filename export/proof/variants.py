"""Exporting a network: every variant is proven against PyTorch before it is written."""

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes, choose_all_lengths
from ranklet.corpus.evaluation.proof_report import (
    FAITHFUL,
    REPORT,
    USABLE,
    Report,
    compare_scores,
    describe_content,
    describe_spread,
)
from ranklet.corpus.memory import release
from ranklet.corpus.progress import step
from ranklet.export.errors import ExportError
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.calibration import Feeds, thin
from ranklet.export.onnx.fp32_head import head_tensors
from ranklet.export.onnx.graph import (
    TorchSession,
    Transformer,
    count_fused_operators,
    example_inputs,
    export_graph,
)
from ranklet.export.onnx.openvino_int8 import quantise
from ranklet.export.onnx.variants import FORMS, WEIGHTS_ONLY, convert
from ranklet.export.options import EXACT, ExportOptions
from ranklet.export.proof.parity import Parity
from ranklet.export.proof.refusal import refusal
from ranklet.export.proof.vectors import VectorScore
from ranklet.runtime.onnx.encoder import VARIANTS, variant_files
from ranklet.runtime.onnx.openvino_session import OpenVINOSession
from ranklet.runtime.onnx.parity import PARITY
from ranklet.runtime.onnx.session import Runs, Session
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto

_log = logging.getLogger(__name__)

# Scores every document for every query as serving does, (queries, documents) float32. It gets one
# session per graph, in the order of the graphs: PyTorch's, or onnxruntime's of one variant.
Score = Callable[[Sequence[Runs], Probes], NDArray[np.float32]]

Files = tuple[bytes, ...]  # contents of a variant's files: one, or model and weights of OpenVINO

# The steps of a proof, and the seconds that each takes for 6 layers of 384 dimensions.
REFERENCE, TRACING = "computing PyTorch's scores", "writing the graph"
MAKING, PROVING = "making the variant", "verifying the variant"
STEPS = {REFERENCE: 5.0, TRACING: 6.0, MAKING: 4.0, PROVING: 3.0}

# Documents that are also scored alone, and the queries that they are scored for. More queries would
# tell nothing new of an encoder, but every pair of a cross-encoder differs.
DOCUMENTS_ALONE, QUERIES_ALONE = 8, 8
# Texts of all lengths that the fp32 graph is compared on before variants are made of it.
SOURCE_QUERIES, SOURCE_DOCUMENTS = 8, 16


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A PyTorch module that becomes one ONNX graph of a ranker.

    Attributes:
        module: takes the inputs by position.
        inputs: example inputs to trace with, by name.
        output: name of the output, or of the first one.
        axes: dynamic axes, as in `export_graph`.
        transformer: the network whose attention is fused, if it is a transformer.
        folder: where the variants are written, below rankers/NAME/; ends with a slash unless empty.
        edit: changes the fp32 graph in place before variants are made of it.
        calibration: selects the feeds that int8 is calibrated on, out of all feeds that PyTorch got
            while it scored the probes.
    """

    module: "torch.nn.Module"
    inputs: "Mapping[str, torch.Tensor]"
    output: str
    axes: Mapping[str, Mapping[int, str]] | None = None
    transformer: Transformer | None = None
    folder: str = ""
    edit: "Callable[[ModelProto], None] | None" = None
    calibration: Callable[[Sequence[Feeds]], Sequence[Feeds]] = thin


def encoder_graph(
    checkpoint: Checkpoint,
    module: "torch.nn.Module",
    inputs: Sequence[str],
    outputs: Mapping[str, bool],
) -> Graph:
    """Return the graph of an encoder of texts that are padded to one length.

    Args:
        checkpoint: the encoder's, which knows its sizes.
        module: the encoder.
        inputs: their names.
        outputs: by the name of each, whether it has a row per token, or else one per text.
    """
    axes = {
        name: {0: "batch", 1: "tokens"} if by_token else {0: "batch"}
        for name, by_token in {**dict.fromkeys(inputs, True), **outputs}.items()
    }
    return Graph(
        module=module,
        inputs=example_inputs(inputs),
        output=next(iter(outputs)),
        axes=axes,
        transformer=Transformer.of(checkpoint.network),
    )


def plan(variants: Sequence[str]) -> list[tuple[str, float]]:
    """Return the steps of a model's proof with their seconds, for a progress bar."""
    steps = [(REFERENCE, STEPS[REFERENCE]), (TRACING, STEPS[TRACING])]
    for variant in variants:
        steps += [(f"{each} {variant}", STEPS[each]) for each in (MAKING, PROVING)]
    return steps


class _Attempt(NamedTuple):
    """A form of a variant."""

    report: Report
    contents: list[Files]  # of the graphs

    def quality(self) -> tuple[bool, float]:
        """Return a key that is larger for the better form."""
        return not self.report.refused, self.report.kendall


class Proof(NamedTuple):
    """PyTorch's scores of the probes, and how each variant compares with them."""

    reference: NDArray[np.float32]  # (queries, documents)
    reports: list[Report]


def export_proven(
    job: ExportJob,
    graphs: Sequence[Graph],
    score: Score,
    probes: Probes,
    *,
    variants: Sequence[str] = tuple(VARIANTS),
    runs: int | None = None,
) -> Proof:
    """Convert graphs that serve together, prove each variant of them and write those that pass.

    Another form of int8 is tried if one is refused, or orders the documents too differently. A form
    as slow as fp32 is tried only if they differ a lot. The best form is kept and reported.

    Args:
        job: the ranker.
        graphs: one or more graphs.
        score: scores texts with the graphs.
        probes: real texts.
        variants: the variants that the network can have; the options' others are left out.
        runs: how often the model runs to score all probes, because `Report.ms` is the time per
            run; None for one run per query and one per document.

    Raises:
        ExportError: no variant is within its tolerance, or the graphs are not the same network;
            nothing is written then.
    """
    name, options = job.name, job.options
    texts = len(probes.queries) + len(probes.documents)
    with tempfile.TemporaryDirectory() as scratch:
        sources = [Path(scratch) / f"{at}.onnx" for at in range(len(graphs))]
        torch = [TorchSession(graph.module) for graph in graphs]
        with step(REFERENCE, STEPS[REFERENCE]):
            reference = score(torch, probes)
        with step(TRACING, STEPS[TRACING]):
            _export_sources(graphs, sources, score, probes, reference, name)
        feeds = [graph.calibration(each.feeds) for graph, each in zip(graphs, torch, strict=True)]
        parity = Parity(
            [list(graph.inputs) for graph in graphs], [graph.output for graph in graphs], score,
            torch, paired=runs is not None and runs > texts,
        )  # fmt: skip
        target, reports = Path(scratch) / "variant.onnx", []
        for variant in _possible(graphs, name, [v for v in options.variants if v in variants]):
            attempts: list[_Attempt] = []
            for form in FORMS.get(variant, ("",)):
                least = USABLE if form == WEIGHTS_ONLY else FAITHFUL
                if any(attempt.quality() >= (True, least) for attempt in attempts):
                    break
                proven: list[Files] = []
                with step(f"{MAKING} {variant}", STEPS[MAKING]):
                    for graph, source, calibration in zip(graphs, sources, feeds, strict=True):
                        if variant == "openvino":
                            proven.append(_for_openvino(graph, source, target, calibration))
                        else:
                            convert(variant, source, target, calibration, form)
                            proven.append((target.read_bytes(),))
                if any(proven == attempt.contents for attempt in attempts):
                    continue  # there was nothing to smooth
                sessions = [_open(files, name) for files in proven]
                with step(f"{PROVING} {variant}", STEPS[PROVING]):
                    report = prove(variant, proven, reference, partial(score, sessions), probes)
                size = sum(len(job.restored(file)) for files in proven for file in files)
                report = judged(
                    replace(report, form=form, bytes=size), score, runs or texts, options
                )
                attempts.append(_Attempt(report, proven))
                del sessions
                release()
            best = max(attempts, key=_Attempt.quality)
            reports.append(best.report)
            if not best.report.refused:
                first = variant_files(VARIANTS[variant])[0]
                places = [f"{job.folder}{graph.folder}{first}" for graph in graphs]
                base = job.parity.removesuffix(PARITY)
                opened = [_open(files, name) for files in best.contents]
                parity.add(variant, opened, [place.removeprefix(base) for place in places])
                del opened
                for graph, files in zip(graphs, best.contents, strict=True):
                    for file, content in zip(variant_files(VARIANTS[variant]), files, strict=True):
                        job.writer.data(f"{job.folder}{graph.folder}{file}", job.restored(content))
    if reports and all(report.refused for report in reports):
        reasons = "; ".join(f"{report.variant}: {report.refused}" for report in reports)
        raise ExportError(f"no variant is within its tolerance, so nothing is written ({reasons})")
    job.writer.data(job.parity, parity.to_json(job.whole))
    return Proof(reference, reports)


def _export_sources(
    graphs: Sequence[Graph],
    sources: Sequence[Path],
    score: Score,
    probes: Probes,
    reference: NDArray[np.float32],
    name: str,
) -> None:
    """Write the fp32 graphs that all variants are made of, and compare their scores with PyTorch's.

    A fault of fusion is as large as what 8 bits lose, so it is only found here. Then the graphs are
    written without fusion.

    Raises:
        ExportError: the scores differ without fusion, too.
    """
    queries = choose_all_lengths(probes.queries, SOURCE_QUERIES)
    documents = choose_all_lengths(probes.documents, SOURCE_DOCUMENTS)
    texts = Probes(
        tuple(probes.queries[at] for at in queries),
        tuple(probes.documents[at] for at in documents),
        ((),) * len(queries),
    )
    spread = describe_spread(reference)

    def error(written: Sequence[Graph]) -> float:
        for graph, source in zip(written, sources, strict=True):
            _export_fp32(graph, source)
        scores = score([_open((source.read_bytes(),), name) for source in sources], texts)
        return float(np.abs(scores - reference[np.ix_(queries, documents)]).max()) / spread

    difference = error(graphs)
    if not difference <= EXACT.max_error and any(graph.transformer for graph in graphs):
        _log.warning(
            "fused operators change scores of %r by %.1f %% of their standard deviation, so it is "
            "exported without them, and slower", name, 100 * difference,
        )  # fmt: skip
        difference = error([replace(graph, transformer=None) for graph in graphs])
    if not difference <= EXACT.max_error:
        raise ExportError(
            f"the graph that is exported of {name!r} is not the same network: its scores differ "
            f"from PyTorch's by {difference:.1%} of their standard deviation, and at most "
            f"{EXACT.max_error:.1%} is allowed; nothing is written"
        )


def _export_fp32(graph: Graph, target: Path) -> None:
    import onnx

    export_graph(graph.module, graph.inputs, graph.output, target, graph.transformer, graph.axes)
    if graph.edit is not None:
        model = onnx.load(str(target))
        graph.edit(model)
        onnx.save(model, str(target))


def _for_openvino(
    graph: Graph, source: Path, scratch: Path, calibration: Sequence[Feeds]
) -> tuple[bytes, bytes]:
    """Return the files of OpenVINO's variant, made without fusion, because it fuses itself."""
    import onnx

    _export_fp32(replace(graph, transformer=None, edit=None), scratch)
    return quantise(scratch, calibration, head_tensors(onnx.load(str(source))))


def _possible(graphs: Sequence[Graph], name: str, variants: Sequence[str]) -> Sequence[str]:
    """Return the variants without OpenVINO's, and say so, if not all graphs are transformers.

    Raises:
        ExportError: no variant remains.
    """
    if "openvino" not in variants or all(graph.transformer for graph in graphs):
        return variants
    remaining = [variant for variant in variants if variant != "openvino"]
    reason = f"{name!r} is no transformer, so it has no variant for OpenVINO"
    if not remaining:
        raise ExportError(f"{reason}; add int8 to --variants")
    _log.warning("%s; it has %s", reason, ", ".join(remaining))
    return remaining


def _open(files: Files, name: str) -> Runs:
    content, *weights = files
    if weights:
        return OpenVINOSession(content, weights[0], name)
    return Session(content, name, device="cpu")


def write_reports(job: ExportJob, reports: Sequence[Report], probes: Probes | None = None) -> None:
    """Write the proofs of a ranker's variants into its folder.

    Args:
        job: the ranker.
        reports: the proofs.
        probes: what they were proven on; None if the reports already say how much of it is the
            user's.
    """
    if probes is not None:
        reports = with_own(reports, probes)
    job.writer.data(job.folder + REPORT, describe_content(reports))


def with_own(reports: Sequence[Report], probes: Probes) -> list[Report]:
    """Return reports that say how many of the probes are the user's."""
    queries, documents = probes.own
    return [replace(each, own_queries=queries, own_documents=documents) for each in reports]


def prove(
    variant: str,
    contents: Sequence[Files],
    reference: NDArray[np.float32],
    score: Callable[[Probes], NDArray[np.float32]],
    probes: Probes,
) -> Report:
    """Compare a variant with PyTorch; `Report.ms` is the time of all probes.

    Args:
        variant: the variant's name.
        contents: the files of each of its graphs; none if there are no files.
        reference: PyTorch's scores of the probes, (queries, documents).
        score: scores texts by the variant.
        probes: the texts that are scored.
    """
    begin = perf_counter()
    scores = score(probes)
    seconds = perf_counter() - begin
    few = probes.first(QUERIES_ALONE, DOCUMENTS_ALONE)
    differences = [
        np.abs(score(replace(few, documents=(text,)))[:, 0] - scores[:QUERIES_ALONE, at])
        for at, text in enumerate(few.documents)
    ]
    return replace(
        compare_scores(
            variant,
            sum(len(file) for files in contents for file in files),
            reference,
            scores,
            probes.relevant,
        ),
        batch_error=float(np.max(differences)) / describe_spread(reference),
        ms=seconds * 1e3,
        fused=_count_fused(contents),
    )


def _count_fused(contents: Sequence[Files]) -> dict[str, int]:
    """Return how many of each fused operator some ONNX graphs have together."""
    from onnx import ModelProto

    counts: Counter[str] = Counter()
    for content, *weights in contents:
        if not weights:
            counts.update(count_fused_operators(ModelProto.FromString(content)))
    return dict(counts)


def judged(report: Report, score: Score, runs: int, options: ExportOptions) -> Report:
    """Return a report with cosines, the time per run, and why it is refused, if it is.

    Args:
        report: of a variant.
        score: scored the probes; the one of vectors also knows their cosines.
        runs: how often the model ran.
        options: with the tolerance.
    """
    if isinstance(score, VectorScore):
        report = score.with_cosines(report)
    report = replace(report, ms=report.ms / runs)
    return replace(report, refused=why_refused(report, options))


def why_refused(report: Report, options: ExportOptions) -> str:
    """Return why a variant is out of the options' tolerance, or "" if it is not."""
    reasons = [refusal(report, options.tolerance(report.variant))]
    if options.max_mb is not None and report.bytes > options.max_mb * 1e6:
        reasons.append(f"{report.bytes / 1e6:.1f} MB > {options.max_mb} MB")
    return "; ".join(each for each in reasons if each)
