"""Export a network over word forms, which is a Conformer-Kernel's or a TK's."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.calibration import Feeds, thin
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import example_inputs
from ranklet.export.proof.variants import Graph, Score, export_proven, write_reports
from ranklet.runtime.rankers.conformer_kernel.network import INPUTS, OUTPUT, TOKENS
from ranklet.runtime.storage.strings import Strings
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import nn

AXES = {
    INPUTS[0]: {0: "batch", 1: "query_terms"},
    INPUTS[1]: {0: "batch", 1: "document_terms"},
    OUTPUT: {0: "batch", 1: "scores"},
}
_EMBEDDING = "encoder.embedding.weight"


def analyse_probes(
    probes: Probes, checkpoint: Checkpoint
) -> tuple[AnalysedCollection, NDArray[np.int32]]:
    """Return the words of the probes' documents, and the network's row of each word form."""
    documents = [Document(str(at), "", text) for at, text in enumerate(probes.documents)]
    field = checkpoint.settings.field
    words = analyse(
        documents, [field], titles=False, known_words=checkpoint.tokens, options=checkpoint.words
    )
    return words, term_rows(checkpoint.tokens, words.analyzer.vocabulary, field)


def export_term_network(
    job: ExportJob, module: "nn.Module", score: Score, probes: Probes, *, pairwise: bool
) -> None:
    """Write a network's variants, each proven against PyTorch, and the spellings of its terms.

    A `pairwise` network runs once per pair, and not once per document for the terms of all queries.
    `score` gets one session, the network's.

    Raises:
        ExportError: no variant is within its tolerance.
    """
    graph = Graph(
        module=module,
        inputs=example_inputs(INPUTS),
        output=OUTPUT,
        axes=AXES,
        edit=_name_pooling,
        calibration=thin if pairwise else _one_term_each,
    )
    runs = len(probes.documents) * (len(probes.queries) if pairwise else 1)
    proof = export_proven(job, [graph], score, probes, runs=runs)
    write_reports(job, proof.reports, probes)
    job.writer.strings(job.folder + TOKENS, Strings.pack(job.checkpoint.tokens))


def _one_term_each(feeds: Sequence[Feeds]) -> list[Feeds]:
    """Return some feeds with one query term each, because a term changes no other's score."""
    return [{**each, INPUTS[0]: each[INPUTS[0]][:, :1]} for each in thin(feeds)]


def _name_pooling(model: "ModelProto") -> None:
    """Keep everything after the document's encoder in 32 bits: sums of kernels, their logarithms.

    The look-up of embeddings is not kept out, because both sides share one table.
    """
    looked_up = [node for node in model.graph.node if node.op_type == "Gather"]
    vectors = [node.output[0] for node in looked_up if _EMBEDDING in node.input]
    name_head(model, vectors, last="LayerNormalization")
