"""Exporting EPIC: two encoders' proven variants; indexing it: vectors by document and by term."""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.document_encoding import encode_documents
from ranklet.export.errors import ExportError
from ranklet.export.impacts import FILES, write_index
from ranklet.export.onnx.calibration import Feeds, Recording
from ranklet.export.onnx.fp32_head import name_head
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs, export_graph
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import (
    Graph,
    check_tokenizer,
    proof_of,
    write_joint_variants,
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
from ranklet.runtime.lexical.sparse_store import SparseQuery, prune, store_of_rows
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoder
from ranklet.runtime.onnx.session import Runs, Session
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
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.impacts import index_of_rows, storage_loss

if TYPE_CHECKING:
    from onnx import ModelProto
    from tokenizers import Tokenizer

    from ranklet.training.rankers.epic import network as epic_network

_log = logging.getLogger(__name__)

QUERY_AXES = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, QUERY_OUTPUT)}


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the variants of both encoders, proven together against PyTorch; choose r.

    Raises:
        ExportError: no probes, weights that are not finite, or no variant within its tolerance.
    """
    from torch import from_numpy

    from ranklet.training.rankers.epic import training as epic
    from ranklet.training.rankers.epic.network import DocumentEncoder, QueryEncoder

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    probes, tokenizer = proof_of(checkpoint, name, options)
    network = epic.load(checkpoint, attention="eager")  # what the optimiser can fuse
    check_tokenizer(tokenizer, checkpoint.settings.vocabulary, name)
    folder = f"rankers/{name}/"
    queries = QueryEncoder(network)
    of_queries = Recording(TorchSession(queries))
    of_documents = Recording(TorchSession(DocumentEncoder(network)))
    vocabulary, limit = checkpoint.settings.vocabulary, checkpoint.settings.max_document_tokens
    none = np.ones(vocabulary, np.float32)
    torch = _ranker(checkpoint.settings, tokenizer, none, of_queries, of_documents)
    vectors = torch.encode_whole(probes.documents).vectors
    floors = term_floors(vectors)
    tokens, _ = torch.document_encoder.token_ids(probes.documents, limit)
    priorities = term_priorities(tokens, vocabulary)
    whole = np.maximum(vectors - floors, 0)
    documents = DocumentEncoder(network, from_numpy(floors))
    asked, _ = torch.encode_queries(probes.queries)
    exact = _exact_scores(network, floors, asked, of_documents.feeds)
    pruned = pruning_reports(exact, whole, asked, probes.relevant, options.prune, priorities)
    kept = options.prune or fewest(pruned)
    settings: EPICSettings = replace(checkpoint.settings, kept=kept, impacts=options.impacts)

    def score_contents(contents: Sequence[bytes], texts: Probes) -> NDArray[np.float32]:
        sessions = (Session(content, name, device="cpu") for content in contents)
        return _score(_ranker(settings, tokenizer, priorities, *sessions), texts)

    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch) / "query.onnx", Path(scratch) / "document.onnx"
        transformer = _transformer(checkpoint)
        example = example_inputs(INPUTS)
        export_graph(queries, example, QUERY_OUTPUT, files[0], transformer, QUERY_AXES)
        export_graph(documents, example, DOCUMENT_OUTPUT, files[1], transformer)
        for path in files:
            _name_head(path, network.head)
        graphs = [
            Graph(files[0], folder + QUERY_ENCODER, of_queries.feeds),
            Graph(files[1], folder + DOCUMENT_ENCODER, of_documents.feeds),
        ]
        reference = sparse_scores(store_of_rows(prune(whole, kept, priorities)), asked)
        reports = write_joint_variants(graphs, reference, score_contents, probes, options, writer)
    write_reports([*reports, *pruned], folder, writer)
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
    if truncated:
        _log.warning(
            "%s: %s of %s documents are longer than the %s tokens that it reads, and were cut",
            name, f"{truncated:,}", f"{len(rows):,}", settings.max_document_tokens,
        )  # fmt: skip
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
    queries: Runs,
    documents: Runs,
) -> EPIC:
    """Return a ranker over sessions, or over PyTorch in their place."""
    size = settings.vocabulary
    of_queries = Encoder(queries, QUERY_OUTPUT, tokenizer, size)
    of_documents = partial(Encoder, documents, DOCUMENT_OUTPUT, tokenizer, size)
    return EPIC(settings, of_queries, of_documents, tokenizer, lambda: priorities)


def _score(ranker: EPIC, texts: Probes) -> NDArray[np.float32]:
    """Return scores as they are served, (queries, documents) float32."""
    asked, _ = ranker.encode_queries(texts.queries)
    return sparse_scores(ranker.encode_documents(texts.documents).store, asked)


def _exact_scores(
    network: "epic_network.EPIC",
    floors: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    documents: Sequence[Feeds],
) -> NDArray[np.float32]:
    """Return PyTorch's dot products with φ_d − floors, not cut off at 0.

    Args:
        network: of both.
        floors: of the terms, (vocabulary,) float32.
        queries: their vectors.
        documents: what each document's encoder was fed.

    Returns:
        (queries, documents) float32.
    """
    import torch

    terms = np.unique(np.concatenate([each.terms for each in queries]))
    at = torch.from_numpy(terms.astype(np.int64))
    found = []
    with torch.inference_mode():
        for each in documents:
            ids, mask, segments = (torch.from_numpy(each[name]) for name in INPUTS)
            found.append(network.document(ids, mask, segments, at))
    return scores_of(queries, terms, torch.cat(found).numpy() - floors[terms])


def _transformer(checkpoint: Checkpoint) -> Transformer:
    network = checkpoint.network
    return Transformer(
        network["num_attention_heads"], network["hidden_size"], network["num_hidden_layers"]
    )


def _name_head(path: Path, head: "epic_network.EPICHead") -> None:
    """Keep 32 bits for all behind the last layer but the expansion, which is most of the work.

    In a graph of documents the importances come before the expansion, and so are the encoder's: in
    16 bits they have these, beside int8 they keep 32.
    """
    import onnx

    model = onnx.load(str(path))
    name_head(model, _expanded(model, head.expansion.out_features))
    onnx.save(model, str(path))


def _expanded(model: "ModelProto", vocabulary: int) -> list[str]:
    """Return the output of the product with Θ2, where the graph has one."""
    wide = {each.name for each in model.graph.initializer if list(each.dims)[1:] == [vocabulary]}
    return [
        node.output[0]
        for node in model.graph.node
        if node.op_type == "MatMul" and node.input[1] in wide
    ]
