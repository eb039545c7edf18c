"""Export a dense encoder with proofs.

Static embeddings become a table of vectors by token, in the fewest bits that are proven. The report
says what each stored form of documents' vectors costs, against vectors in 32 bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import (
    FAITHFUL,
    STORED,
    Report,
    compare_scores,
    with_cosines,
)
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.proof.as_others import STATES, AsOthers, Pooled
from ranklet.export.proof.variants import encoder_graph, export_proven, why_refused, write_reports
from ranklet.export.proof.vectors import Vectors, VectorScore
from ranklet.export.rankers.dense.query_table import TABLES, describe_given, write_arrays
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense.stored import FORMS, LARGEST_HALF, WHOLE, StoredVectors
from ranklet.runtime.onnx.encoder import TOKEN_STATES, TOKENIZER, Encoder
from ranklet.runtime.onnx.query_table import QUERIES
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.onnx.token_table import TokenTable
from ranklet.runtime.rankers.dense import (
    EXHAUSTIVE,
    OUTPUT,
    QUERY_TABLE,
    TABLE,
    TABLE_SCALES,
    DenseEncoder,
    DenseSettings,
)
from ranklet.training.checkpoint import Arrays, Checkpoint

if TYPE_CHECKING:
    from torch import Tensor

    from ranklet.training.rankers.dense.network import DenseNetwork

VARIANTS = ("int8", "fp16", "fp32")  # the fewest bits first
TABLE_ARRAY = "table"  # of a checkpoint of static embeddings, (vocabulary, dimension) float32


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
    if settings.given:
        if settings.by_tokens:
            write_arrays(job.writer, job.folder, job.checkpoint)
            job.write_tokenizer()
        return job.entry(settings)
    if settings.encoder == "table":
        export_table(job)
        return job.entry(settings)
    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.dense import training as dense

    probes = job.probes()
    score = VectorScore(partial(_vectors, job))
    network = dense.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    graph = encoder_graph(job.checkpoint, network, network.inputs, {OUTPUT: False})
    if network.is_additive:  # so that explanations have parts by word
        module, outputs = Method(network, network.with_states), {OUTPUT: False, TOKEN_STATES: True}
        graph = encoder_graph(job.checkpoint, module, network.inputs, outputs)
    graphs = [graph]
    queries = job.checkpoint.queries
    if queries is not None and queries.weights:
        network = dense.load(queries, attention="eager")
        own = encoder_graph(queries, network, network.inputs, {OUTPUT: False})
        graphs.append(replace(own, folder=QUERIES))
    proof = export_proven(job, graphs, score, probes)
    stored = form_reports(*score.first, probes.relevant)
    tables: list[Report] = []
    if queries is not None and not queries.weights:
        prompted = [settings.query_prompt + text for text in probes.queries]

        def of_queries(arrays: Arrays) -> Vectors:
            limit, by = settings.max_query_tokens, table_encoder(queries, arrays)
            return by.encode(prompted, limit, 0).vectors, score.first[1]

        tables = write_table(job, queries, QUERIES, of_queries)
    write_reports(job, [*proof.reports, *tables, *stored], probes)
    job.write_tokenizer()
    if settings.encoder == QUERY_TABLE:
        write_arrays(job.writer, job.folder, job.checkpoint)
    if queries is not None:
        tokenizer = replace(job, checkpoint=queries).tokenizer()
        job.writer.data(f"{job.folder}{QUERIES}{TOKENIZER}", tokenizer.to_str().encode())
    return job.entry(settings)


def _vectors(job: ExportJob, sessions: Sequence[Runs], texts: Probes) -> Vectors:
    """Return the vectors of queries and documents that sessions make, the second those of queries.

    There is no second one where one network encodes both.
    """
    settings: DenseSettings = job.settings
    if settings.encoder == QUERY_TABLE:  # what is proven is the network that it learned from
        settings = replace(settings, encoder="network")
    tokenizers, apart = [job.tokenizer()], job.checkpoint.queries
    if apart is not None and apart.weights:
        tokenizers.append(apart.need_tokenizer())
    encoders: list[Encoder | TokenTable] = [
        Encoder(session, OUTPUT, tokenizer, settings.dimension)
        for session, tokenizer in zip(sessions, tokenizers, strict=True)
    ]
    if apart is not None and not apart.weights:
        encoders.append(table_encoder(apart, {TABLE: apart.arrays[TABLE_ARRAY]}))
    encoder = DenseEncoder(settings, encoders[0], encoders[-1])
    queries = encoder.encode_queries(list(texts.queries)).vectors
    return queries, encoder.encode_documents(list(texts.documents)).vectors


def as_others(job: ExportJob) -> AsOthers:
    """Return the encoder with the states of its last layer as output.

    Raises:
        ExportError: there are no probes, or the encoder is a table.
    """
    from ranklet.export.onnx.method import Method
    from ranklet.training.imported.chain import STATES as STATES_READ
    from ranklet.training.rankers.dense import training as dense

    if job.settings.encoder == "table":
        raise ExportError(
            f"{job.name!r} has static embeddings, which need no graph; others read its own folder"
        )
    parts = [job.checkpoint]
    if (queries := job.checkpoint.queries) is not None and queries.weights:
        parts.append(queries)
    if any(part.network.get("output_hidden_states") for part in parts):
        raise ExportError(
            f"{job.name!r} reads the states of all layers, which no other library's graph has; "
            "export it as a bundle, without --layout hub"
        )
    networks = [dense.load(part, attention="eager") for part in parts]  # which alone is fused
    graphs = [
        encoder_graph(part, Method(network, network.states), network.inputs, {STATES: True})
        for part, network in zip(parts, networks, strict=True)
    ]

    def encode(sessions: Sequence[Runs], texts: Probes) -> Vectors:
        own: list[Runs] = []
        for at, (graph, network) in enumerate(zip(graphs, networks, strict=True)):

            def pool(
                states: "Tensor", inputs: "Mapping[str, Tensor]", network: "DenseNetwork" = network
            ) -> "Tensor":
                return network.pooled({**inputs, STATES_READ: states})

            # One session is of a transformer that both sides share.
            own.append(Pooled(sessions[min(at, len(sessions) - 1)], graph, OUTPUT, pool))
        return _vectors(job, own, texts)

    score = VectorScore(encode)
    return AsOthers(
        graphs[0], score, job.probes(), "feature-extraction",
        queries=graphs[1] if len(graphs) > 1 else None,
    )  # fmt: skip


def export_table(job: ExportJob) -> None:
    """Write one table, its tokenizer and the proofs of all tables that were tried.

    The report also has a row per stored form of the documents' vectors. See `write_table`.

    Raises:
        ExportError: there are no probes, or no table is within its tolerance.
    """
    probes = job.probes()
    documents = list(probes.documents)

    def encoded(arrays: Arrays) -> Vectors:
        encoder = DenseEncoder(job.settings, table_encoder(job.checkpoint, arrays))
        queries = encoder.encode_queries(list(probes.queries)).vectors
        return queries, encoder.encode_documents(documents).vectors

    reports = write_table(job, job.checkpoint, "", encoded)
    exact = encoded({TABLE: job.checkpoint.arrays[TABLE_ARRAY]})
    write_reports(job, [*reports, *form_reports(*exact, probes.relevant)], probes)
    job.write_tokenizer()


def write_table(
    job: ExportJob, checkpoint: Checkpoint, folder: str, encoded: Callable[[Arrays], Vectors]
) -> list[Report]:
    """Write one table, and return the proofs of all tables that were tried.

    It is the smallest of the variants that the options name. A larger one is tried, too, as long as
    no smaller one is within its tolerance and orders the documents nearly as 32 bits do.

    Args:
        job: the ranker's.
        checkpoint: the static embeddings.
        folder: where it is written, below the ranker's; ends with a slash unless empty.
        encoded: returns the vectors of the probes by the arrays of a table.

    Raises:
        ExportError: no table is within its tolerance.
    """
    probes, options, table = job.probes(), job.options, checkpoint.arrays[TABLE_ARRAY]
    if not {*options.variants} & {*VARIANTS}:
        raise ExportError(
            f"{job.name!r} has static embeddings, which need no OpenVINO; add int8 to --variants"
        )
    exact_queries, exact_documents = encoded({TABLE: table})
    reference = exact_queries @ exact_documents.T
    reports: list[Report] = []
    chosen: Arrays | None = None
    for variant in VARIANTS:
        tried_in_vain = bool(reports) and chosen is None
        if variant not in options.variants and not tried_in_vain:
            continue
        arrays = name_table_arrays(variant, table)
        size, begin = sum(array.nbytes for array in arrays.values()), perf_counter()
        queries, documents = encoded(arrays)
        seconds = perf_counter() - begin
        report = compare_scores(variant, size, reference, queries @ documents.T, probes.relevant)
        whole = np.concatenate([exact_queries, exact_documents])
        report = with_cosines(report, whole, np.concatenate([queries, documents]))
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
        job.writer.array(job.folder + folder + file, array)
    return reports


def table_encoder(checkpoint: Checkpoint, arrays: Arrays) -> TokenTable:
    """Return what encodes texts by the arrays of a table, with a checkpoint's tokenizer."""
    return TokenTable(
        arrays[TABLE], checkpoint.need_tokenizer(), scales=arrays.get(TABLE_SCALES),
        normalise=checkpoint.settings.similarity == "cosine",
    )  # fmt: skip


def name_table_arrays(variant: str, table: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
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
            report = compare_scores(f"{STORED}{form}", size, reference, scores, relevant)
            reports.append(with_cosines(report, documents, stored.floats(slice(None))))
    return reports


EXPORTER = Exporter(
    export,
    settings=("stored", "search", "m", "ef_construction", "ef"),
    cuts=True,
    as_others=as_others,
    tables=TABLES,
    given=describe_given,
)
