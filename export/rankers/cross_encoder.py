"""Exporting cross-encoders: encoder, head and the combination of chunks in one proven graph."""

import logging
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.onnx.calibration import Recording
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import TorchSession, Transformer, export_graph
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import proof_of, write_reports, write_variants
from ranklet.export.writer import BundleWriter
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.pipeline.candidates import TextCandidates
from ranklet.runtime.rankers.cross_encoder.ranker import (
    OUTPUT,
    TRANSLATIONS,
    CrossEncoder,
    CrossEncoderSettings,
)
from ranklet.runtime.rankers.protocol import QueryContext
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.runtime.text.pairing import AROUND, INPUTS, Pairing
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.cross_encoder.pairs import pieces_of

if TYPE_CHECKING:
    import torch

    from ranklet.training.rankers.cross_encoder.network import CrossNetwork

_log = logging.getLogger(__name__)

PROBES = 20, 30  # queries, documents: each pair is a run of its own
CALIBRATION = 200  # pairs
LOOKED_AT = 1000  # documents at most, for whether windows hold all of their words
AXES = {
    **{name: {0: "chunks", 1: "tokens"} for name in INPUTS[:3]},
    INPUTS[3]: {0: "pairs", 1: "chunks"},
    OUTPUT: {0: "pairs"},
}
EXPLAINED_AXES = {**AXES, TRANSLATIONS: {0: "chunks", 1: "query_tokens", 2: "tokens"}}


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch.

    Raises:
        ExportError: no probes, weights that are not finite, or no variant within its tolerance.
    """
    from ranklet.training.rankers.cross_encoder import training as cross_encoder
    from ranklet.training.rankers.cross_encoder.heads.model1 import Model1Head
    from ranklet.training.rankers.cross_encoder.network import ExplainedNetwork

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    probes, tokenizer = proof_of(checkpoint, name, options)
    probes = probes.nearest(*PROBES)
    settings: CrossEncoderSettings = checkpoint.settings
    network = cross_encoder.load(checkpoint, attention="eager")  # what the optimiser can fuse
    explained = isinstance(network.head, Model1Head)
    module = ExplainedNetwork(network, network.head) if explained else network  # type: ignore[arg-type]

    def score(ranker: CrossEncoder, texts: Probes) -> NDArray[np.float32]:
        analysis = ranker.analyzer.begin()
        candidates = TextCandidates(texts.documents, analysis)
        rows = [ranker.score(QueryContext(text, analysis), candidates) for text in texts.queries]
        return np.array(rows, np.float32)

    def score_content(content: bytes, texts: Probes) -> NDArray[np.float32]:
        session = Session(content, name, device="cpu")
        return score(CrossEncoder(settings, session, tokenizer), texts)

    folder = f"rankers/{name}/"
    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "graph.onnx"
        axes = EXPLAINED_AXES if explained else AXES
        export_graph(module, example_pairs(network), OUTPUT, graph, _transformer(checkpoint), axes)
        _name_head(graph)
        torch = Recording(TorchSession(module))
        reference = score(CrossEncoder(settings, torch, tokenizer), probes)
        calibration = torch.feeds[:: max(1, len(torch.feeds) // CALIBRATION)]
        reports = write_variants(
            graph, reference, score_content, probes, options, folder, writer, calibration,
            pairwise=True,
        )  # fmt: skip
    write_reports(reports, folder, writer)
    if not settings.field:
        writer.data(folder + TOKENIZER, tokenizer.to_str().encode())
    return RankerEntry(checkpoint.kind, asdict(settings))


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:  # noqa: ARG001
    """Return words that the vocabulary must have for this ranker: none."""
    return ()


def index(
    source: BundleFiles,
    name: str,
    analysed: AnalysedCollection,
    writer: BundleWriter,
) -> RankerEntry:
    """Take the network over: nothing of it hangs on the collection but the stored word pieces."""
    _tell_of_long_documents(source, name, analysed)
    writer.copy(source, f"rankers/{name}/")
    return source.manifest.rankers[name]


def _tell_of_long_documents(source: BundleFiles, name: str, analysed: AnalysedCollection) -> None:
    settings = CrossEncoderSettings.from_json(
        source.manifest.rankers[name].settings, f"rankers.{name}"
    )
    if settings.field != "wordpieces":
        return
    if settings.chunking == "words":
        _tell_of_gaps(source, name, settings, analysed)
        return
    most = settings.chunks * (settings.max_tokens - AROUND - settings.max_query_tokens)
    lengths = np.diff(analysed.offsets("wordpieces"))
    if cut := int((lengths > most).sum()):
        _log.warning(
            "%s: beside a query of %s word pieces it reads the first %s of a document; %s of %s "
            "documents are longer",
            name, settings.max_query_tokens, f"{most:,}", f"{cut:,}", f"{len(lengths):,}",
        )  # fmt: skip


def _tell_of_gaps(
    source: BundleFiles, name: str, settings: CrossEncoderSettings, analysed: AnalysedCollection
) -> None:
    """Warn where windows are too few, or too long for a row beside the longest query."""
    pairing = Pairing(settings, source.analyzer.tokenizer)
    query = pairing.special[:1] * settings.own_query_tokens
    count = len(analysed.documents)
    looked = range(0, count, -(-count // LOOKED_AT))
    if cut := sum(pairing.pair(query, pieces_of(analysed, at)).cut for at in looked):
        _log.warning(
            "%s: of %s documents looked at, %s have words that none of its %s windows of %s words "
            "holds beside a query of %s word pieces; --max-tokens is %s",
            name, f"{len(looked):,}", f"{cut:,}", settings.chunks, settings.window, len(query),
            settings.max_tokens,
        )  # fmt: skip


def example_pairs(network: "CrossNetwork") -> "dict[str, torch.Tensor]":
    """Return inputs to trace with: two pairs, one of two chunks and one of one.

    Args:
        network: whose special tokens are [CLS] and [SEP] among others.
    """
    import torch

    tokens, text = 12, 5
    plain = next(each for each in range(10**6) if each not in network.special.tolist())
    ids = torch.full((3, tokens), plain)
    segments, mask = torch.zeros_like(ids), torch.ones_like(ids)
    segments[:, text:] = 1
    mask[2, 9:] = 0
    ids[:, 0] = network.special[0]
    pairs = torch.tensor([[1, 1, 0], [0, 0, 1]])
    return dict(zip(INPUTS, (ids, mask, segments * mask, pairs), strict=True))


def _transformer(checkpoint: Checkpoint) -> Transformer:
    network = checkpoint.network
    return Transformer(
        network["num_attention_heads"], network["hidden_size"], network["num_hidden_layers"]
    )


def _name_head(graph: Path) -> None:
    import onnx

    model = onnx.load(str(graph))
    name_head(model)
    onnx.save(model, str(graph))
