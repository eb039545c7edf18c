"""Exporting a network over word forms, proven against PyTorch: a Conformer-Kernel's, or a TK's."""

import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.onnx.calibration import Feeds, Recording
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import TorchSession, example_inputs, export_graph
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import write_reports, write_variants
from ranklet.export.writer import BundleWriter
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.conformer_kernel.network import INPUTS, OUTPUT, TOKENS
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.text.strings import Strings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Document
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows

if TYPE_CHECKING:
    from torch import nn

    from ranklet.runtime.onnx.session import Runs

_log = logging.getLogger(__name__)

CALIBRATION = 200  # documents, or pairs
AXES = {
    INPUTS[0]: {0: "batch", 1: "query_terms"},
    INPUTS[1]: {0: "batch", 1: "document_terms"},
    OUTPUT: {0: "batch", 1: "scores"},
}
_EMBEDDING = "encoder.embedding.weight"

# Scores all queries of some texts for all their documents, (queries, documents) float32, from: the
# texts' words, the network's row of each word form, the network, the texts.
Score = Callable[[AnalysedCollection, NDArray[np.int32], "Runs", Probes], NDArray[np.float32]]


def export_network(
    module: "nn.Module",
    checkpoint: Checkpoint,
    name: str,
    writer: BundleWriter,
    options: ExportOptions,
    score: Score,
    *,
    probes: tuple[int, int],
    pairwise: bool,
) -> None:
    """Write a network's variants, each proven against PyTorch, and the spellings of its terms.

    Args:
        module: what becomes a graph.
        checkpoint: that it is of.
        name: of the ranker.
        writer: of the bundle.
        options: of the export.
        score: scores texts as serving does.
        probes: queries and documents of a proof.
        pairwise: whether each pair is a run of its own; else a document runs once for the terms of
            all queries.

    Raises:
        ExportError: no probes, or no variant within its tolerance.
    """
    given = options.probes or checkpoint.probes
    if given is None:
        raise ExportError(
            f"{name!r} has no probes to prove its variants on; give --probes COLLECTION"
        )
    texts = given.nearest(*probes)
    listed = [Document(str(at), "", text) for at, text in enumerate(texts.documents)]
    field = checkpoint.settings.field
    words = analyse(listed, [field], titles=False, known_words=checkpoint.tokens)
    rows = term_rows(checkpoint.tokens, words.analyzer.vocabulary)

    def score_content(content: bytes, texts: Probes) -> NDArray[np.float32]:
        return score(words, rows, Session(content, name, device="cpu"), texts)

    folder = f"rankers/{name}/"
    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "graph.onnx"
        export_graph(module, example_inputs(INPUTS), OUTPUT, graph, axes=AXES)
        _name_pooling(graph)
        torch = Recording(TorchSession(module))
        reference = score(words, rows, torch, texts)
        calibration = _calibration(torch.feeds, pairwise=pairwise)
        reports = write_variants(
            graph, reference, score_content, texts, options, folder, writer, calibration,
            pairwise=pairwise,
        )  # fmt: skip
    if not pairwise:  # the time of a document, with the terms of all queries at once
        share = 1 + len(texts.queries) / len(texts.documents)
        reports = [replace(each, ms=each.ms * share) for each in reports]
    write_reports(reports, folder, writer)
    writer.strings(folder + TOKENS, Strings.pack(checkpoint.tokens))


def count_truncated(settings: TermSettings, analysed: AnalysedCollection, name: str) -> int:
    """Return how many documents are longer than the model reads, and warn of them."""
    lengths = np.diff(analysed.offsets(settings.field))
    cut = int((lengths > settings.max_document_terms).sum())
    if cut:
        _log.warning(
            "%s: %s of %s documents are longer than the %s terms that it reads, and were cut",
            name, f"{cut:,}", f"{len(lengths):,}", f"{settings.max_document_terms:,}",
        )  # fmt: skip
    return cut


def _calibration(feeds: Sequence[Feeds], *, pairwise: bool) -> list[Feeds]:
    """Return some of the feeds, with one query term each where a term changes no other's score."""
    some = feeds[:: max(1, len(feeds) // CALIBRATION)]
    if pairwise:
        return list(some)
    return [{**each, INPUTS[0]: each[INPUTS[0]][:, :1]} for each in some]


def _name_pooling(graph: Path) -> None:
    """Keep all after the document's encoder in 32 bits: sums of kernels, and of their logarithms.

    The embeddings are looked up before: they are one table for both sides.
    """
    import onnx

    model = onnx.load(str(graph))
    name_head(model, last="LayerNormalization")
    for node in model.graph.node:
        if node.op_type == "Gather" and _EMBEDDING in node.input:
            node.name = f"embedding_{node.name}"
    onnx.save(model, str(graph))
