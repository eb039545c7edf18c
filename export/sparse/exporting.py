"""Export the encoders of learned sparse vectors, proven with the pruning that serves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.fp32_head import name_head, vocabulary_products
from ranklet.export.proof.variants import Graph, encoder_graph, export_proven, write_reports
from ranklet.export.sparse.pruning import encoders_over, pruning_reports, text_scores
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.learned_sparse import PRIORITIES, SparseEncoder, SparseEncoders
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import nn


def sparse_graph(
    checkpoint: Checkpoint,
    module: "nn.Module",
    inputs: Sequence[str],
    encoder: SparseEncoder,
    *,
    by_token: bool = False,
) -> Graph:
    """Return the graph of an encoder whose product with the vocabulary is quantised, too.

    That product is most of the work, and everything else after the last layer keeps 32 bits. What
    a module computes before the product is treated as the encoder's: fp16 computes it in 16 bits,
    int8 leaves it in 32. See `encoder_graph`; `by_token` is said of the encoder's output.
    """

    def keep_head(model: "ModelProto") -> None:
        name_head(model, keep=vocabulary_products(model, checkpoint.settings.vocabulary))

    graph = encoder_graph(checkpoint, module, inputs, {encoder.output: by_token})
    return replace(graph, folder=encoder.folder, edit=keep_head)


def export_sparse(
    job: ExportJob,
    kind: type[SparseEncoders],
    *,
    graphs: Sequence[Graph],
    per_term: Mapping[str, NDArray[np.float32]],
    queries: Sequence[SparseQuery],
    vectors: NDArray[np.float32],
    exact: NDArray[np.float32],
) -> RankerEntry:
    """Write the variants of the encoders and the arrays of the ranker.

    Args:
        job: the ranker.
        kind: the class of the encoders.
        graphs: the graphs of the query encoder and the document encoder, or one for both.
        per_term: the ranker's arrays by the names of their files, each (vocabulary,) float32.
        queries: PyTorch's vectors of the probes' queries.
        vectors: PyTorch's vectors of the probes' documents, (documents, vocabulary) float32.
        exact: the scores without pruning, (queries, documents) float32.

    Raises:
        ExportError: no variant is within its tolerance.
    """
    probes, tokenizer, prune = job.probes(), job.tokenizer(), job.options.prune
    pruned = pruning_reports(exact, vectors, queries, probes.relevant, prune, per_term[PRIORITIES])
    settings = replace(job.settings, kept=prune)
    encoders = partial(encoders_over, kind, settings, tokenizer, per_term)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        return text_scores(encoders(sessions), texts)

    proof = export_proven(job, graphs, score, probes)
    write_reports(job, [*proof.reports, *pruned], probes)
    for file, array in per_term.items():
        job.writer.array(job.folder + file, array)
    if not settings.field:
        job.write_tokenizer()
    return job.entry(settings)
