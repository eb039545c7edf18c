"""Export SPLADE: one encoder of queries and documents, and the weights of query terms."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.proof.as_others import LOGITS, AsOthers, Pooled
from ranklet.export.sparse.exporting import export_sparse, sparse_graph
from ranklet.export.sparse.pruning import encoders_over, scores_of
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.learned_sparse import PRIORITIES
from ranklet.runtime.rankers.splade import ENCODER, QUERY_WEIGHTS, SPLADEEncoders, SPLADESettings

if TYPE_CHECKING:
    from torch import Tensor

# Queries and documents that prove logits, of which each token has as many as there are terms.
PROBES = 50, 60
NO_PRIORITY = np.float32(1e-9)  # of a term that no query has


def export(job: ExportJob) -> RankerEntry:
    """Write the variants of the encoder, proven against PyTorch, and choose r.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.training.rankers.splade import training as splade

    probes, tokenizer = job.probes(), job.tokenizer()
    settings: SPLADESettings = job.settings
    network = splade.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    # SPLADE keeps the largest values, so all terms have the same priority.
    per_term = {PRIORITIES: np.ones(settings.vocabulary, np.float32)}
    if network.head is not None:  # what a value adds to a score is known, so the most is kept
        weights = np.maximum(job.checkpoint.weights["head.weight"][:, 0], 0)
        per_term = {PRIORITIES: np.maximum(weights, NO_PRIORITY), QUERY_WEIGHTS: weights}
    encoders = encoders_over(SPLADEEncoders, settings, tokenizer, per_term, [TorchSession(network)])
    vectors = encoders.encode_whole(probes.documents).vectors
    queries, _ = encoders.encode_queries(probes.queries)
    return export_sparse(
        job, SPLADEEncoders,
        graphs=[sparse_graph(job.checkpoint, network, network.inputs, ENCODER)],
        per_term=per_term,
        queries=queries,
        vectors=vectors,
        exact=scores_of(queries, np.arange(settings.vocabulary), vectors),
    )  # fmt: skip


def as_others(job: ExportJob) -> AsOthers:
    """Return the masked language model with its logits as output.

    Raises:
        ExportError: there are no probes.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.splade import training as splade

    settings: SPLADESettings = job.settings
    network = splade.load(job.checkpoint, attention="eager")
    logits = Method(network, network.logits)
    output = ENCODER._replace(output=LOGITS)
    graph = sparse_graph(job.checkpoint, logits, network.inputs, output, by_token=True)
    per_term = {PRIORITIES: np.ones(settings.vocabulary, np.float32)}
    if network.head is not None:
        per_term[QUERY_WEIGHTS] = np.maximum(job.checkpoint.weights["head.weight"][:, 0], 0)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        def pool(logits: "Tensor", inputs: "Mapping[str, Tensor]") -> "Tensor":
            return network.pooled(logits, inputs["attention_mask"])

        own = Pooled(sessions[0], graph, ENCODER.output, pool)
        encoders = encoders_over(SPLADEEncoders, settings, job.tokenizer(), per_term, [own])
        queries, _ = encoders.encode_queries(texts.queries)
        vectors = encoders.encode_whole(texts.documents).vectors
        return scores_of(queries, np.arange(settings.vocabulary), vectors)

    return AsOthers(graph, score, job.probes().nearest(*PROBES), "fill-mask")


EXPORTER = Exporter(export, settings=("impacts",), prunes=True, as_others=as_others)
