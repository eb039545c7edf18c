"""Export EPIC: two encoders, which are proven together because they score together."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.fp32_head import name_head, vocabulary_products
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import (
    Graph,
    export_proven,
    probes_of,
    tokenizer_of,
    write_reports,
)
from ranklet.export.rankers import Exporter
from ranklet.export.sparse.indexing import index
from ranklet.export.sparse.pruning import fewest, pruning_reports, term_floors, term_priorities
from ranklet.export.sparse.scoring import ranker_over, scores_of, text_scores
from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.sparse_store import SparseQuery
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.epic import DOCUMENT_ENCODER, EPIC, INPUTS, QUERY_ENCODER, EPICSettings
from ranklet.runtime.rankers.learned_sparse import PRIORITIES, SparseEncoder
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import Probes

if TYPE_CHECKING:
    from onnx import ModelProto
    from torch import nn

    from ranklet.training.rankers.epic import network as epic_network

QUERY_AXES = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, QUERY_ENCODER.output)}


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the variants of both encoders, proven together against PyTorch, and choose r.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from torch import from_numpy

    from ranklet.training.rankers.epic import training as epic
    from ranklet.training.rankers.epic.network import DocumentEncoder, QueryEncoder

    probes, tokenizer = probes_of(checkpoint, name, options), tokenizer_of(checkpoint, name)
    settings: EPICSettings = checkpoint.settings
    network = epic.load(checkpoint, attention="eager")  # the optimiser fuses no other
    documents = TorchSession(DocumentEncoder(network))
    sessions = TorchSession(QueryEncoder(network)), documents
    ranker = ranker_over(EPIC, settings, tokenizer, {}, sessions)
    vectors = ranker.encode_whole(probes.documents).vectors
    tokens = [feeds["input_ids"][0] for feeds in documents.feeds]
    floors, priorities = term_floors(vectors), term_priorities(tokens, settings.vocabulary)
    queries, _ = ranker.encode_queries(probes.queries)
    exact = _exact_scores(network, floors, queries, documents.feeds)
    pruned = pruning_reports(
        exact, np.maximum(vectors - floors, 0), queries, probes.relevant, options.prune, priorities
    )
    kept = options.prune or fewest(pruned)
    settings = replace(settings, kept=kept)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        ranker = ranker_over(EPIC, settings, tokenizer, {PRIORITIES: priorities}, sessions)
        return text_scores(ranker, texts)

    def graph(module: "nn.Module", encoder: SparseEncoder) -> Graph:
        return Graph(
            module=module,
            inputs=example_inputs(INPUTS),
            output=encoder.output,
            axes=QUERY_AXES if encoder is QUERY_ENCODER else None,
            transformer=Transformer.of(checkpoint.network),
            folder=encoder.folder,
            edit=partial(_name_head, vocabulary=settings.vocabulary),
        )

    graphs = [
        graph(QueryEncoder(network), QUERY_ENCODER),
        graph(DocumentEncoder(network, from_numpy(floors)), DOCUMENT_ENCODER),
    ]
    folder, proof = f"rankers/{name}/", export_proven(graphs, score, probes, name, writer, options)
    write_reports([*proof.reports, *pruned], folder, writer)
    writer.array(folder + PRIORITIES, priorities)
    if not settings.field:
        writer.data(folder + TOKENIZER, tokenizer.to_str().encode())
    return RankerEntry(checkpoint.kind, asdict(settings))


def _exact_scores(
    network: "epic_network.EPIC",
    floors: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    documents: Sequence[Feeds],
) -> NDArray[np.float32]:
    """Return PyTorch's dot products with φ_d − floors, which is not clipped at 0.

    Args:
        network: both encoders.
        floors: one per term, (vocabulary,) float32.
        queries: sparse vectors of the queries.
        documents: the document encoder's input for each document.

    Returns:
        (queries, documents) float32.
    """
    import torch

    terms = np.unique(np.concatenate([query.terms for query in queries]))
    columns = torch.from_numpy(terms.astype(np.int64))
    values = []
    with torch.inference_mode():
        for feeds in documents:
            ids, mask, segments = (torch.from_numpy(feeds[name]) for name in INPUTS)
            values.append(network.document(ids, mask, segments, columns))
    return scores_of(queries, terms, torch.cat(values).numpy() - floors[terms])


def _name_head(model: "ModelProto", vocabulary: int) -> None:
    """Keep everything after the last layer in 32 bits, except the expansion to the vocabulary.

    The expansion is most of the work. In a document's graph the importances come before it, so they
    are treated as the encoder's: fp16 computes them in 16 bits, int8 leaves them in 32.
    """
    name_head(model, keep=vocabulary_products(model, vocabulary))


EXPORTER = Exporter(export, index, settings=("impacts",), prunes=True)
