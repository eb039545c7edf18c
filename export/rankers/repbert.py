"""Exporting RepBERT: the encoder's proven variants; indexing it: vectors, and HNSW over them."""

import logging
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.export.document_encoding import encode_documents
from ranklet.export.onnx.calibration import Recording
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs, export_graph
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import check_tokenizer, proof_of, write_reports, write_variants
from ranklet.export.writer import BundleWriter
from ranklet.runtime.dense.exact import ExactIndex
from ranklet.runtime.dense.hnsw import HNSWIndex, HNSWSettings, build
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoder
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.repbert import GRAPH, INPUTS, OUTPUT, VECTORS, RepBERT, RepBERTSettings
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection

_log = logging.getLogger(__name__)

HNSW_FROM = 50_000  # documents from which HNSW is built, unless the settings say otherwise
RECALL_QUERIES, RECALL_AT = 200, 10


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the encoder's variants, each proven against PyTorch, and its tokenizer.

    Raises:
        ExportError: no probes, weights that are not finite, or no variant within its tolerance.
    """
    from ranklet.training.rankers import repbert

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    probes, tokenizer = proof_of(checkpoint, name, options)
    settings: RepBERTSettings = checkpoint.settings
    module = repbert.load(checkpoint, attention="eager")  # what the optimiser can fuse
    network = checkpoint.network
    check_tokenizer(tokenizer, network["vocab_size"], name)
    transformer = Transformer(
        network["num_attention_heads"], network["hidden_size"], network["num_hidden_layers"]
    )

    def score(encoder: Encoder, texts: Probes) -> NDArray[np.float32]:
        ranker = RepBERT(settings, encoder)
        queries = ranker.encode_queries(list(texts.queries)).vectors
        return queries @ ranker.encode_documents(list(texts.documents)).vectors.T

    def score_content(content: bytes, texts: Probes) -> NDArray[np.float32]:
        session = Session(content, name, device="cpu")
        return score(Encoder(session, OUTPUT, tokenizer, settings.dimension), texts)

    folder = f"rankers/{name}/"
    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "graph.onnx"
        export_graph(module, example_inputs(INPUTS), OUTPUT, graph, transformer)
        torch = Recording(TorchSession(module))
        reference = score(Encoder(torch, OUTPUT, tokenizer, settings.dimension), probes)
        reports = write_variants(
            graph, reference, score_content, probes, options, folder, writer, torch.feeds
        )
    write_reports(reports, folder, writer)
    writer.data(folder + TOKENIZER, tokenizer.to_str().encode())
    return RankerEntry(checkpoint.kind, asdict(settings))


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:  # noqa: ARG001
    """Return words that the vocabulary must have for this ranker: none."""
    return ()


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Encode every document with the exported model, and build HNSW where it is worth it.

    Recall against exact search is measured and stored beside the index.
    """
    entry = source.manifest.rankers[name]
    ranker = RepBERT.open(source, name, many=True)
    folder = f"rankers/{name}/"
    writer.copy(source, folder, leave_out=(VECTORS, GRAPH))
    vectors, truncated = encode_documents(
        ranker, ranker.encode_documents, (ranker.settings.dimension,), np.float32, analysed,
        writer.resume_folder / name,
    )  # fmt: skip
    settings = replace(ranker.settings, truncated=truncated)
    if truncated:
        _log.warning(
            "%s: %s of %s documents are longer than the %s tokens that it reads, and were cut",
            name, f"{truncated:,}", f"{len(vectors):,}", settings.max_document_tokens,
        )  # fmt: skip
    writer.array(folder + VECTORS, vectors)
    if settings.search == "hnsw" or len(vectors) >= HNSW_FROM:
        settings = replace(settings, search="hnsw")
        recall = _write_hnsw(vectors, settings, folder, writer)
        settings = replace(settings, recall=recall)
    return RankerEntry(entry.kind, asdict(settings))


def _write_hnsw(
    vectors: NDArray[np.float32], settings: RepBERTSettings, folder: str, writer: BundleWriter
) -> float:
    """Write the index; return its recall@10 against exact search, over documents as queries."""
    hnsw = HNSWSettings(settings.m, settings.ef_construction, settings.ef)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / GRAPH
        build(vectors, hnsw, path)
        content = path.read_bytes()
    writer.data(folder + GRAPH, content)
    found = HNSWIndex(memoryview(content), len(vectors), vectors.shape[1], hnsw)
    exact = ExactIndex(vectors)
    chosen = np.random.default_rng(0).permutation(len(vectors))[:RECALL_QUERIES]
    shares = []
    for query in vectors[chosen]:
        wanted, _ = exact.search(query, RECALL_AT)
        shares.append(len({*wanted.tolist()} & {*found.search(query, RECALL_AT)[0].tolist()}))
    return float(np.mean(shares)) / min(RECALL_AT, len(vectors))
