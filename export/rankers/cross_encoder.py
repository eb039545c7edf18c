"""Export cross-encoders: encoder, head and the combination of chunks in one proven graph."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.exporter import Exporter
from ranklet.export.onnx.calibration import thinned
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import Transformer
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import (
    Graph,
    export_proven,
    probes_of,
    tokenizer_of,
    write_reports,
)
from ranklet.export.writer import BundleWriter
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.cross_encoder.ranker import (
    IMPORTED,
    OUTPUT,
    TRANSLATIONS,
    CrossEncoder,
    CrossEncoderSettings,
)
from ranklet.runtime.text.pair_layout import pair_layout
from ranklet.runtime.text.pairing import INPUTS, Pairing
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.cross_encoder.pairs import document_pieces

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto

_log = logging.getLogger(__name__)

PROBES = 20, 30  # queries, documents: few, because every pair is a run of its own
SAMPLED = 1000  # documents at most, to find out whether windows hold all of their words
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
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.training.rankers.cross_encoder.heads.model1 import Model1Head
    from ranklet.training.rankers.cross_encoder.network import ExplainedNetwork
    from ranklet.training.rankers.cross_encoder.training import load_any

    settings: CrossEncoderSettings = checkpoint.settings
    probes = probes_of(checkpoint, name, options).nearest(*PROBES)
    tokenizer = tokenizer_of(checkpoint, name)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        ranker = CrossEncoder(settings, sessions[0], tokenizer)
        analysis = ranker.analyzer.begin()
        candidates = TextCandidates(texts.documents, analysis)
        queries = (QueryContext(text, analysis) for text in texts.queries)
        rows = [ranker.score(query, candidates).values for query in queries]
        return np.array(rows, np.float32)

    network = load_any(checkpoint, attention="eager")  # the optimiser fuses no other
    imported, head = settings.head == IMPORTED, getattr(network, "head", None)
    explained = isinstance(head, Model1Head)
    graph = Graph(
        module=ExplainedNetwork(network, head) if explained else network,  # type: ignore[arg-type]
        inputs=example_pairs(Pairing(settings, tokenizer).special),
        output=OUTPUT,
        axes=EXPLAINED_AXES if explained else AXES,
        transformer=Transformer.of(checkpoint.network),
        edit=_name_classifier if imported else name_head,
        calibration=thinned,
    )
    pairs = len(probes.queries) * len(probes.documents)
    proof = export_proven([graph], score, probes, name, writer, options, runs=pairs)
    write_reports(proof.reports, f"rankers/{name}/", writer, probes)
    if not settings.field:
        writer.data(f"rankers/{name}/{TOKENIZER}", tokenizer.to_str().encode())
    return RankerEntry(checkpoint.kind, asdict(settings))


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Copy the network: apart from the stored word pieces nothing depends on the collection."""
    _warn_of_long_documents(source, name, analysed)
    writer.copy(source, f"rankers/{name}/")
    return source.manifest.rankers[name]


def _warn_of_long_documents(source: BundleFiles, name: str, analysed: AnalysedCollection) -> None:
    settings: CrossEncoderSettings = source.settings(name)
    if settings.field != "wordpieces":
        return
    if settings.chunking == "words":
        _warn_of_gaps(source, name, settings, analysed)
        return
    around = pair_layout(source.analyzer.tokenizer).around
    room = settings.chunks * (settings.max_tokens - around - settings.max_query_tokens)
    lengths = np.diff(analysed.offsets("wordpieces"))
    if longer := int((lengths > room).sum()):
        _log.warning(
            "%s: with a query of %s word pieces it reads the first %s word pieces of a document, "
            "but %s of %s %s are longer",
            name, settings.max_query_tokens, f"{room:,}", f"{longer:,}", f"{len(lengths):,}",
            analysed.unit,
        )  # fmt: skip


def _warn_of_gaps(
    source: BundleFiles, name: str, settings: CrossEncoderSettings, analysed: AnalysedCollection
) -> None:
    """Log a warning if, with the longest query, some words of documents are in no window.

    There are too few windows then, or a row has no room for a whole window.
    """
    pairing = Pairing(settings, source.analyzer.tokenizer)
    query = pairing.special[:1] * settings.own_query_tokens
    count = len(analysed.documents)
    sample = range(0, count, -(-count // SAMPLED))
    if cut := sum(pairing.pair(query, document_pieces(analysed, at)).cut for at in sample):
        _log.warning(
            "%s: in %s of %s sampled documents some words are in none of the %s windows of %s "
            "words if the query has %s word pieces; --max-tokens is %s",
            name, f"{cut:,}", f"{len(sample):,}", settings.chunks, settings.window, len(query),
            settings.max_tokens,
        )  # fmt: skip


def _name_classifier(model: "ModelProto") -> None:
    """Name what follows the last layer norm as the head, in place.

    Not every architecture has a layer norm that can be fused at the end of a layer. Without any
    norm there is no head, and all of the graph is converted.
    """
    norms = [node for node in model.graph.node if node.op_type.endswith("LayerNormalization")]
    if norms:
        name_head(model, keep=[node.output[0] for node in norms])


def example_pairs(special: Sequence[int]) -> "dict[str, torch.Tensor]":
    """Return inputs to trace with: a pair of two chunks and a pair of one chunk.

    Args:
        special: ids of tokens that are not text.
    """
    import torch

    tokens, text = 12, 5
    plain = next(token for token in range(10**6) if token not in special)
    ids = torch.full((3, tokens), plain)
    segments, mask = torch.zeros_like(ids), torch.ones_like(ids)
    segments[:, text:] = 1
    mask[2, 9:] = 0
    ids[:, 0] = special[0]
    pairs = torch.tensor([[1, 1, 0], [0, 0, 1]])
    return dict(zip(INPUTS, (ids, mask, segments * mask, pairs), strict=True))


EXPORTER = Exporter(export, index)
