"""Export cross-encoders: encoder, head and the combination of chunks in one proven graph."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import Transformer
from ranklet.export.proof.as_others import LOGITS, STATES, AsOthers, Pooled
from ranklet.export.proof.variants import Graph, encoder_graph, export_proven, write_reports
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.cross_encoder.ranker import (
    IMPORTED,
    OUTPUT,
    TRANSLATIONS,
    CrossEncoder,
    CrossEncoderSettings,
)
from ranklet.runtime.text.pairing import INPUTS, Pairing

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto


PROBES = 20, 30  # queries, documents: few, because every pair is a run of its own

AXES = {
    **{name: {0: "chunks", 1: "tokens"} for name in INPUTS[:3]},
    INPUTS[3]: {0: "pairs", 1: "chunks"},
    OUTPUT: {0: "pairs"},
}

EXPLAINED_AXES = {**AXES, TRANSLATIONS: {0: "chunks", 1: "query_tokens", 2: "tokens"}}


def export(job: ExportJob) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.cross_encoder.training import load_any

    settings: CrossEncoderSettings = job.settings
    probes, tokenizer = job.probes().nearest(*PROBES), job.tokenizer()

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        return _scores(job, sessions[0], texts)

    network: Any = load_any(job.checkpoint, attention="eager")  # the optimiser fuses no other
    explained = settings.head == "model1"
    graph = Graph(
        module=Method(network, network.explained) if explained else network,
        inputs=example_pairs(Pairing(settings, tokenizer).special),
        output=OUTPUT,
        axes=EXPLAINED_AXES if explained else AXES,
        transformer=Transformer.of(job.checkpoint.network),
        edit=_name_classifier if settings.head == IMPORTED else name_head,
    )
    pairs = len(probes.queries) * len(probes.documents)
    proof = export_proven(job, [graph], score, probes, runs=pairs)
    write_reports(job, proof.reports, probes)
    if not settings.field:
        job.write_tokenizer()
    return job.entry()


def _scores(job: ExportJob, session: Runs, texts: Probes) -> NDArray[np.float32]:
    """Return the scores of all pairs that a session makes, (queries, documents)."""
    ranker = CrossEncoder(job.settings, session, job.tokenizer())
    analysis = ranker.analyzer.begin()
    candidates = TextCandidates(texts.documents, analysis)
    queries = (QueryContext(text, analysis) for text in texts.queries)
    return np.array([ranker.score(query, candidates).values for query in queries], np.float32)


def as_others(job: ExportJob) -> AsOthers:
    """Return an imported classifier with the logits of all labels as output.

    Raises:
        ExportError: there are no probes, or the head is ranklet's own.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.imported.chain import STATES as TOKEN_STATES
    from ranklet.training.rankers.cross_encoder.classifier import PairClassifier
    from ranklet.training.rankers.cross_encoder.training import load_any

    network = load_any(job.checkpoint, attention="eager")
    if not isinstance(network, PairClassifier):
        raise ExportError(
            f"{job.name!r} has the head {job.settings.head}, which no other library knows; export "
            "it as a bundle"
        )
    if job.settings.template:
        raise ExportError(
            f"{job.name!r} reads the logits of two words, which is no graph that others know; "
            "export it as a bundle, without --layout hub"
        )
    pairs = example_pairs(Pairing(job.settings, job.tokenizer()).special)
    output, by_token = (STATES, True) if network.after else (LOGITS, False)
    own = TOKEN_STATES if network.after else LOGITS  # as the library's modules name it
    read = Method(network, lambda *inputs: network.read(*inputs)[own])
    graph = replace(
        encoder_graph(job.checkpoint, read, network.inputs, {output: by_token}),
        inputs={name: pairs[name] for name in network.inputs},
        edit=_name_classifier,
    )
    probes = job.probes().nearest(*PROBES)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        def pool(made: "torch.Tensor", inputs: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
            logits = network.logits({**inputs, own: made})
            return inputs[INPUTS[3]].float() @ network.scores(logits)

        return _scores(job, Pooled(sessions[0], graph, OUTPUT, pool), texts)

    runs = len(probes.queries) * len(probes.documents)
    return AsOthers(graph, score, probes, "text-ranking", runs)


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
    ids[:, 0] = special[0] if special else plain
    pairs = torch.tensor([[1, 1, 0], [0, 0, 1]])
    return dict(zip(INPUTS, (ids, mask, segments * mask, pairs), strict=True))


EXPORTER = Exporter(export, cuts=True, as_others=as_others)
