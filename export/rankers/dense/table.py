"""Export static embeddings as a table of vectors by token, in the fewest bits that are proven."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import FAITHFUL, Report, compare_scores
from ranklet.export.proof.variants import probes_of, tokenizer_of, why_refused, write_reports
from ranklet.export.rankers.dense.stored_forms import form_reports
from ranklet.export.writer import BundleWriter
from ranklet.runtime.dense.stored import LARGEST_HALF
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.token_table import TokenTable
from ranklet.runtime.rankers.dense import TABLE, TABLE_SCALES, DenseEncoder, DenseSettings
from ranklet.training.checkpoint import Checkpoint

VARIANTS = ("int8", "fp16", "fp32")  # the fewest bits first


def export_table(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> None:
    """Write one table, its tokenizer and the proofs of all tables that were tried.

    It is the smallest of the variants that the options name. A larger one is tried, too, as long as
    no smaller one is within its tolerance and orders the documents nearly as 32 bits do. The report
    also has a row per stored form of the documents' vectors.

    Raises:
        ExportError: there are no probes, or no table is within its tolerance.
    """
    probes, tokenizer = probes_of(checkpoint, name, options), tokenizer_of(checkpoint, name)
    settings: DenseSettings = checkpoint.settings
    table = checkpoint.arrays["table"]

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
            f"{name!r} has static embeddings, which need no OpenVINO; add int8 to --variants"
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
    folder = f"rankers/{name}/"
    for file, array in chosen.items():
        writer.array(folder + file, array)
    stored = form_reports(exact_queries, exact_documents, probes.relevant)
    write_reports([*reports, *stored], folder, writer, probes)
    writer.data(folder + TOKENIZER, tokenizer.to_str().encode())


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
