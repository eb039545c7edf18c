"""Export EPIC as two proven encoders; index a collection as vectors, by document and by term."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.document_encoding import encode_documents, warn_of_long_documents
from ranklet.export.errors import ExportError
from ranklet.export.impacts import FILES, write_index
from ranklet.export.onnx.calibration import Feeds, Recording
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import (
    Graph,
    export_proven,
    probes_of,
    tokenizer_of,
    write_reports,
)
from ranklet.export.rankers.epic.pruning import (
    fewest,
    pruning_reports,
    scores_of,
    sparse_scores,
    term_floors,
    term_priorities,
)
from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.sparse_store import SparseQuery, store_of_rows
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.epic.ranker import (
    DOCUMENT_ENCODER,
    DOCUMENT_OUTPUT,
    EPIC,
    INDEX,
    INPUTS,
    OFFSETS,
    PRIORITIES,
    QUERY_ENCODER,
    QUERY_OUTPUT,
    TERMS,
    VALUES,
    EPICSettings,
)
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.impacts import index_of_rows, storage_loss

if TYPE_CHECKING:
    from onnx import ModelProto
    from tokenizers import Tokenizer
    from torch import nn

    from ranklet.training.rankers.epic import network as epic_network

QUERY_AXES = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, QUERY_OUTPUT)}


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
    documents = Recording(TorchSession(DocumentEncoder(network)))
    sessions = TorchSession(QueryEncoder(network)), documents
    whole = _ranker(settings, tokenizer, np.ones(settings.vocabulary, np.float32), sessions)
    vectors = whole.encode_whole(probes.documents).vectors
    tokens, _ = whole.document_encoder.token_ids(probes.documents, settings.max_document_tokens)
    queries, _ = whole.encode_queries(probes.queries)
    floors, priorities = term_floors(vectors), term_priorities(tokens, settings.vocabulary)
    exact = _exact_scores(network, floors, queries, documents.feeds)
    pruned = pruning_reports(
        exact, np.maximum(vectors - floors, 0), queries, probes.relevant, options.prune, priorities
    )
    kept = options.prune or fewest(pruned)
    settings = replace(settings, kept=kept, impacts=options.impacts)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        ranker = _ranker(settings, tokenizer, priorities, sessions)
        queries, _ = ranker.encode_queries(texts.queries)
        return sparse_scores(ranker.encode_documents(texts.documents).store, queries)

    def graph(module: "nn.Module", output: str, folder: str) -> Graph:
        return Graph(
            module=module,
            inputs=example_inputs(INPUTS),
            output=output,
            axes=QUERY_AXES if output == QUERY_OUTPUT else None,
            transformer=Transformer.of(checkpoint.network),
            folder=folder,
            edit=partial(_name_head, vocabulary=settings.vocabulary),
        )

    graphs = [
        graph(QueryEncoder(network), QUERY_OUTPUT, QUERY_ENCODER),
        graph(DocumentEncoder(network, from_numpy(floors)), DOCUMENT_OUTPUT, DOCUMENT_ENCODER),
    ]
    folder, proof = f"rankers/{name}/", export_proven(graphs, score, probes, name, writer, options)
    write_reports([*proof.reports, *pruned], folder, writer)
    writer.array(folder + PRIORITIES, priorities)
    if not settings.field:
        writer.data(folder + TOKENIZER, tokenizer.to_str().encode())
    return RankerEntry(checkpoint.kind, asdict(settings))


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:  # noqa: ARG001
    """Return words that the vocabulary must have for this ranker: none."""
    return ()


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Encode every document with the exported model; write its vector by document and by term."""
    entry, ranker = source.manifest.rankers[name], source.ranker(name)
    if not isinstance(ranker, EPIC):
        raise ExportError(f"{name!r} is no EPIC")
    folder = f"rankers/{name}/"
    written = (OFFSETS, TERMS, VALUES, *(INDEX + each for each in FILES))
    writer.copy(source, folder, leave_out=written)
    rows, truncated = encode_documents(
        ranker, ranker.encode_documents, ranker.row_shape, np.uint16, analysed,
        writer.resume_folder / name,
    )  # fmt: skip
    settings = replace(ranker.settings, truncated=truncated)
    warn_of_long_documents(name, truncated, len(rows), settings.max_document_tokens)
    store = store_of_rows(rows)
    del rows
    writer.array(folder + OFFSETS, store.offsets)
    writer.array(folder + TERMS, store.terms)
    writer.array(folder + VALUES, store.values)
    values = store.values.astype(np.float32)
    settings = replace(settings, impact_loss=storage_loss(values, settings.impacts))
    built = index_of_rows(store.offsets, store.terms, values, settings.vocabulary, settings.impacts)
    write_index(built, folder + INDEX, writer)
    return RankerEntry(entry.kind, asdict(settings))


def _ranker(
    settings: EPICSettings,
    tokenizer: "Tokenizer",
    priorities: NDArray[np.float32],
    sessions: Sequence[Runs],
) -> EPIC:
    """Return a ranker over the sessions of the query encoder and of the document encoder."""
    queries, documents = sessions
    size = settings.vocabulary
    return EPIC(
        settings,
        Encoder(queries, QUERY_OUTPUT, tokenizer, size),
        partial(Encoder, documents, DOCUMENT_OUTPUT, tokenizer, size),
        tokenizer,
        lambda: priorities,
    )


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
    constants = model.graph.initializer
    wide = {each.name for each in constants if list(each.dims)[1:] == [vocabulary]}
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    name_head(model, [node.output[0] for node in products if node.input[1] in wide])
