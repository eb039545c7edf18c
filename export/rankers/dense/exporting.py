"""Export a dense encoder with proofs; index vectors, and search them by codes if they are many.

Static embeddings become a table of vectors by token, in the fewest bits that are proven. The report
says what each stored form of documents' vectors costs, against vectors in 32 bits.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.indexing.packer import packed, release
from ranklet.export.document_encoding import (
    Encoding,
    encode_documents,
    encoder_digest,
    warn_of_long_documents,
)
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob, IndexJob
from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.proof.as_others import STATES, AsOthers, Pooled
from ranklet.export.proof.report import FAITHFUL, STORED, Report, compare_scores
from ranklet.export.proof.variants import encoder_graph, export_proven, why_refused, write_reports
from ranklet.export.writer import BundleWriter
from ranklet.runtime.bundles.files import CUT
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense import graph, hnsw
from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.stored import (
    BLOCK,
    FORMS,
    LARGEST_HALF,
    WHOLE,
    ExactIndex,
    StoredVectors,
)
from ranklet.runtime.onnx.encoder import TOKEN_STATES, Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.onnx.token_table import TokenTable
from ranklet.runtime.rankers.dense import (
    CODES,
    EXHAUSTIVE,
    GRAPH,
    HNSW,
    OUTPUT,
    SCALES,
    TABLE,
    TABLE_SCALES,
    VECTORS,
    DenseEncoder,
    DenseSettings,
    open_vectors,
)

if TYPE_CHECKING:
    from torch import Tensor

CODES_FROM = 50_000  # documents from which on codes replace exact search, unless it was chosen
# Numbers of all vectors from which on a graph replaces both, if its package is installed. Codes of
# so many take 5 ms (`dense_search`): 200,000 vectors of 384.
GRAPH_FROM = 80_000_000
RECALL_QUERIES, RECALL_AT = 200, 10
INDEXED = (VECTORS, SCALES, CODES, GRAPH, HNSW, CUT)  # what `index` writes

VARIANTS = ("int8", "fp16", "fp32")  # the fewest bits first


def export(job: ExportJob) -> RankerEntry:
    """Write the encoder's variants, each proven against PyTorch, and its tokenizer.

    The report also has a row per stored form of the documents' vectors. Static embeddings become a
    table instead, see `export_table`.

    Exact search that the options choose is stored as exhaustive, because "exact" is the default
    that every checkpoint has.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    settings: DenseSettings = job.settings
    if job.options.settings.get("search") == "exact":
        settings = replace(settings, search=EXHAUSTIVE)
    if settings.encoder == "table":
        export_table(job)
        return job.entry(settings)
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.dense import training as dense

    probes = job.probes()
    encoded: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []  # queries, documents

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        queries, documents = _vectors(job, sessions[0], texts)
        if not encoded:  # PyTorch's
            encoded.append((queries, documents))
        return queries @ documents.T

    network = dense.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    graph = encoder_graph(job.checkpoint, network, network.inputs, {OUTPUT: False})
    if network.is_additive:  # so that explanations have parts by word
        module, outputs = Method(network, network.with_states), {OUTPUT: False, TOKEN_STATES: True}
        graph = encoder_graph(job.checkpoint, module, network.inputs, outputs)
    proof = export_proven(job, [graph], score, probes)
    stored = form_reports(*encoded[0], probes.relevant)
    write_reports(job, [*proof.reports, *stored], probes)
    job.write_tokenizer()
    return job.entry(settings)


def _vectors(
    job: ExportJob, session: Runs, texts: Probes
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the vectors of queries and documents that a session makes."""
    settings: DenseSettings = job.settings
    whole = Encoder(session, OUTPUT, job.tokenizer(), settings.dimension)
    encoder = DenseEncoder(settings, whole)
    queries = encoder.encode_queries(list(texts.queries)).vectors
    return queries, encoder.encode_documents(list(texts.documents)).vectors


def as_others(job: ExportJob) -> AsOthers:
    """Return the encoder with the states of its last layer as output.

    Raises:
        ExportError: there are no probes, or the encoder is a table.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.dense import training as dense

    if job.settings.encoder == "table":
        raise ExportError(
            f"{job.name!r} has static embeddings, which need no graph; others read its own folder"
        )
    network = dense.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    states = Method(network, network.states)
    graph = encoder_graph(job.checkpoint, states, network.inputs, {STATES: True})

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        def pool(states: "Tensor", inputs: "Mapping[str, Tensor]") -> "Tensor":
            return network.pooled(states, inputs["attention_mask"])

        queries, documents = _vectors(job, Pooled(sessions[0], graph, OUTPUT, pool), texts)
        return queries @ documents.T

    return AsOthers(graph, score, job.probes(), "feature-extraction")


def index(job: IndexJob) -> RankerEntry:
    """Encode every document with the exported model, and index the vectors in their stored form.

    Whatever searches them is made of the stored form, because an update has no other. A large
    collection is searched by binary codes, unless another search was chosen. The recall of codes
    and of HNSW against exact search is measured and stored.
    """
    name, analysed, writer, folder = job.name, job.analysed, job.writer, job.folder
    encoder = DenseEncoder.open(job.source, name, many=True)
    job.copy(leave_out=INDEXED)
    settings = replace(encoder.settings, **job.entry.replaced)  # as exported
    encoded = encode_documents(
        encoder.encode_documents, encoder.digest, (settings.dimension,), np.float32, analysed, name,
        writer.resume_folder / name,
    )  # fmt: skip
    vectors = _all_vectors(encoded, name, settings)
    measured = dict[str, float](truncated=len(encoded.cut))
    limit = settings.max_document_tokens
    warn_of_long_documents(name, len(encoded.cut), analysed, limit)
    writer.array(folder + VECTORS, vectors.values)
    if vectors.scales is not None:
        writer.array(folder + SCALES, vectors.scales)
    writer.array(folder + CUT, encoded.cut)
    replaced: dict[str, str] = {}
    if settings.search == "exact" and len(vectors) >= CODES_FROM:
        replaced["search"] = settings.search
        large = len(vectors) * settings.dimension >= GRAPH_FROM and graph.is_installed()
        settings = replace(settings, search="graph" if large else "binary")
    if settings.search == "hnsw":
        measured["recall"] = recall(_write_hnsw(vectors, settings, folder, writer), vectors)
    elif settings.search in ("binary", "graph"):
        codes = binary_codes(vectors.values)
        writer.array(folder + CODES, codes)
        index: BinaryIndex | graph.Graph = BinaryIndex(codes, vectors)
        if settings.search == "graph":
            m, built = settings.m, settings.ef_construction
            content = graph.build(vectors, m=m, ef_construction=built)
            writer.data(folder + GRAPH, content)
            index = graph.GraphIndex(memoryview(content), vectors, ef=settings.ef)
        measured["recall"] = recall(index, vectors)
    digest = encoder_digest(encoder.digest)
    return RankerEntry(job.entry.kind, asdict(settings), measured, replaced, digest)


def _all_vectors(encoded: Encoding, name: str, settings: DenseSettings) -> StoredVectors:
    """Return the vectors of all documents; vectors that were encoded before are copied."""
    origins = encoded.origins
    parts = [open_vectors(bundle, name, settings) for bundle in origins.bundles]
    parts.append(_in_form(encoded.rows, settings.stored))
    if not origins.bundles:
        return parts[-1]
    runs = [(parts[run.part], slice(run.begin, run.end)) for run in origins.runs()]
    dtype, dimension = parts[-1].values.dtype, settings.dimension
    values = packed((part.values[own] for part, own in runs), dtype, (dimension,))
    scales = [part.scales[own] for part, own in runs if part.scales is not None]
    return StoredVectors(values, np.concatenate(scales) if scales else None)


def _in_form(vectors: NDArray[np.float32], form: str) -> StoredVectors:
    """Return vectors in a form of `FORMS`, in a temporary file unless they have it already."""
    if form == WHOLE:
        return StoredVectors(vectors)
    scales = [np.empty(0, np.float32)]

    def values() -> Iterator[NDArray[Any]]:
        for begin in range(0, len(vectors), BLOCK):
            part = StoredVectors.of(vectors[begin : begin + BLOCK], form)
            if part.scales is not None:
                scales.append(part.scales)
            yield part.values
            release(vectors)

    stored = packed(values(), FORMS[form], vectors.shape[1:])  # also completes `scales`
    return StoredVectors(stored, np.concatenate(scales) if form == "int8" else None)


def _write_hnsw(
    vectors: StoredVectors, settings: DenseSettings, folder: str, writer: BundleWriter
) -> hnsw.HNSWIndex:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / HNSW
        floats = vectors.floats(slice(None))
        hnsw.build(floats, path, m=settings.m, ef_construction=settings.ef_construction)
        content = path.read_bytes()
    writer.data(folder + HNSW, content)
    return hnsw.HNSWIndex(memoryview(content), vectors, ef=settings.ef)


def recall(index: BinaryIndex | graph.Graph, vectors: StoredVectors) -> float:
    """Return recall@10 of an index against exact search; documents are the queries."""
    exact = ExactIndex(vectors)
    queries = np.random.default_rng(0).permutation(len(vectors))[:RECALL_QUERIES]
    overlaps = []
    for query in vectors.floats(queries):
        nearest = [set(search.search(query, RECALL_AT)[0].tolist()) for search in (exact, index)]
        overlaps.append(len(nearest[0] & nearest[1]))
    return float(np.mean(overlaps)) / min(RECALL_AT, len(vectors))


def export_table(job: ExportJob) -> None:
    """Write one table, its tokenizer and the proofs of all tables that were tried.

    It is the smallest of the variants that the options name. A larger one is tried, too, as long as
    no smaller one is within its tolerance and orders the documents nearly as 32 bits do. The report
    also has a row per stored form of the documents' vectors.

    Raises:
        ExportError: there are no probes, or no table is within its tolerance.
    """
    probes, tokenizer = job.probes(), job.tokenizer()
    settings, options = job.settings, job.options
    table = job.checkpoint.arrays["table"]

    def encoded(arrays: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[np.float32]]:
        values = TokenTable(
            arrays[TABLE], tokenizer, scales=arrays.get(TABLE_SCALES),
            normalise=settings.similarity == "cosine",
        )  # fmt: skip
        encoder = DenseEncoder(settings, values)
        queries = encoder.encode_queries(list(probes.queries)).vectors
        return queries, encoder.encode_documents(list(probes.documents)).vectors

    if not {*options.variants} & {*VARIANTS}:
        raise ExportError(
            f"{job.name!r} has static embeddings, which need no OpenVINO; add int8 to --variants"
        )
    exact_queries, exact_documents = encoded({TABLE: table})
    reference = exact_queries @ exact_documents.T
    reports: list[Report] = []
    chosen: Mapping[str, NDArray[Any]] | None = None
    for variant in VARIANTS:
        tried_in_vain = bool(reports) and chosen is None
        if variant not in options.variants and not tried_in_vain:
            continue
        arrays = stored_as(variant, table)
        size, begin = sum(array.nbytes for array in arrays.values()), perf_counter()
        queries, documents = encoded(arrays)
        seconds = perf_counter() - begin
        report = compare_scores(variant, size, reference, queries @ documents.T, probes.relevant)
        texts = len(probes.queries) + len(probes.documents)
        report = replace(report, ms=seconds * 1e3 / texts)
        report = replace(report, refused=why_refused(report, options))
        reports.append(report)
        if chosen is None and not report.refused and report.kendall >= FAITHFUL:
            chosen = arrays
    if chosen is None:
        reasons = "; ".join(f"{report.variant}: {report.refused}" for report in reports)
        raise ExportError(f"no table is within its tolerance, so nothing is written ({reasons})")
    for file, array in chosen.items():
        job.writer.array(job.folder + file, array)
    stored = form_reports(exact_queries, exact_documents, probes.relevant)
    write_reports(job, [*reports, *stored], probes)
    job.write_tokenizer()


def stored_as(variant: str, table: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table by the names of their files.

    Args:
        variant: fp32, fp16, or int8 with one scale per token.
        table: (vocabulary, dimension) float32.
    """
    if variant == "int8":
        rows, scales = quantise_rows(table)
        return {TABLE: rows, TABLE_SCALES: scales[:, 0]}
    if variant == "fp16":
        return {TABLE: table.clip(-LARGEST_HALF, LARGEST_HALF).astype(np.float16)}
    return {TABLE: table}


def form_reports(
    queries: NDArray[np.float32], documents: NDArray[np.float32], relevant: Sequence[Sequence[int]]
) -> list[Report]:
    """Return how each stored form ranks the probes, next to vectors in 32 bits.

    Args:
        queries: PyTorch's vectors of the queries, (queries, dimension).
        documents: PyTorch's vectors of the documents, (documents, dimension).
        relevant: indices of the relevant documents of each query.
    """
    reference = queries @ documents.T
    reports = []
    for form in FORMS:
        if form != WHOLE:
            stored = StoredVectors.of(documents, form)
            scores = queries @ stored.floats(slice(None)).T
            size = round(stored.nbytes / max(1, len(stored)))
            reports.append(compare_scores(f"{STORED}{form}", size, reference, scores, relevant))
    return reports


EXPORTER = Exporter(
    export,
    index,
    indexed=INDEXED,
    settings=("stored", "search", "m", "ef_construction", "ef"),
    cuts=True,
    as_others=as_others,
    parts={"search": EXHAUSTIVE},  # whatever searches is made of all vectors
)
