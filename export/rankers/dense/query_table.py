"""A table that encodes the queries of a dense encoder; see `ranklet.runtime.onnx.query_table`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.rankers.dense import INDEXED, needs_codes, write_codes
from ranklet.export.errors import ExportError
from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.query_side import FirstDocuments, Learned, QueryTables, Teacher
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense.stored import ExactIndex
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.query_table import FILES, QUERIES, ROWS, SCALES
from ranklet.runtime.rankers.dense import (
    GIVEN,
    GIVEN_TABLE,
    NETWORKS,
    QUERY_TABLE,
    Dense,
    DenseEncoder,
    DenseSettings,
    open_vectors,
)
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUERY_TOKENS = 512  # that a table reads of a query where no network says how many


def name_stored_array(file: str) -> str:
    """Return the name of a checkpoint's array by that of a bundle's file.

    >>> name_stored_array("rows.npy")
    'query_rows'
    """
    return f"query_{file.removesuffix('.npy')}"


def _teacher(bundle: BundleFiles, name: str) -> Teacher:
    settings: DenseSettings = bundle.settings(name)
    if settings.encoder not in ("network", NETWORKS):
        raise ExportError(f"{name!r} has no network that encodes queries, so none can be replaced")
    if settings.similarity != "cosine":
        raise ExportError(f"{name!r} compares by the inner product; a table learns cosines only")
    encoder, folder = DenseEncoder.open(bundle, name, many=True), f"rankers/{name}/"
    own = sorted(
        (file.removeprefix(folder), each.sha256)
        for file, each in bundle.manifest.files.items()
        if file.startswith(folder) and file.removeprefix(folder) not in INDEXED
    )
    digest = repr((own, settings.query_prompt, settings.max_query_tokens, settings.dimension))
    return Teacher(
        lambda texts: encoder.encode_queries(texts).vectors,
        encoder.of_queries.tokenizer, settings.dimension, digest,
    )  # fmt: skip


def _write(writer: BundleWriter, source: BundleFiles, name: str, made: Learned) -> RankerEntry:
    settings: DenseSettings = source.settings(name)
    own, queries = f"rankers/{name}/", f"rankers/{name}/{QUERIES}"
    for file in source.manifest.files:
        replaced = file.startswith(queries) and file != queries + TOKENIZER
        if file.startswith(own) and not replaced:
            writer.data(file, source.file(file))
    for file, values in _arrays(made.rows).items():
        writer.array(queries + file, values)
    entry = source.manifest.rankers[name]
    with_table = replace(settings, encoder=QUERY_TABLE)
    if needs_codes(with_table, source.manifest.documents):
        with_table, vectors = (
            replace(with_table, search="binary"),
            open_vectors(source, name, settings),
        )
        measured = {**entry.measured, "recall": write_codes(vectors, with_table, own, writer)}
        entry = replace(
            entry, measured=measured, replaced={**entry.replaced, "search": settings.search}
        )
    return replace(entry, settings=asdict(with_table))


def _checkpoint(checkpoint: Checkpoint, made: Learned) -> Checkpoint:
    settings = replace(checkpoint.settings, encoder=QUERY_TABLE)
    return replace(checkpoint, settings=settings, arrays=_name_arrays(made.rows))


def describe_given(
    training: Mapping[str, Any],
    rows: NDArray[np.float32] | None = None,
    tokenizer: "Tokenizer | None" = None,
    **settings: Any,
) -> Checkpoint:
    """Return the checkpoint of vectors from outside, whose table has rows, if there is one.

    Args:
        training: what is known of them.
        rows: of the table, (vocabulary, dimension); None for none.
        tokenizer: of the table.
        settings: of `DenseSettings`.
    """
    if rows is None:
        return Checkpoint("dense", DenseSettings(encoder=GIVEN, **settings), training=training)
    known = DenseSettings(encoder=GIVEN_TABLE, max_query_tokens=QUERY_TOKENS, **settings)
    return Checkpoint("dense", known, _name_arrays(rows), tokenizer=tokenizer, training=training)


def _name_arrays(rows: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    return {name_stored_array(file): values for file, values in _arrays(rows).items()}


def _arrays(rows: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Return a table in 8 bits, with a scale per row, by the names of a bundle's files."""
    values, scales = quantise_rows(rows)
    return {ROWS: values, SCALES: scales[:, 0]}


def write_arrays(writer: BundleWriter, folder: str, checkpoint: Checkpoint) -> None:
    """Write the table of a checkpoint into a ranker's folder."""
    for file in FILES:
        writer.array(folder + QUERIES + file, checkpoint.arrays[name_stored_array(file)])


def _first(bundle: BundleFiles, name: str, queries: Sequence[str], k: int) -> list[FirstDocuments]:
    settings: DenseSettings = bundle.settings(name)
    ranker = cast("Dense", open_ranker(bundle, name))
    index, encoder = ExactIndex(ranker.vectors), ranker.encoder
    prompted = [settings.query_prompt + query for query in queries]
    exact = encoder.encoder.encode(prompted, settings.max_query_tokens, 0).vectors
    pairs = zip(encoder.encode_queries(list(queries)).vectors, exact, strict=True)
    return [FirstDocuments(*(index.search(each, k)[0] for each in pair)) for pair in pairs]


TABLES = QueryTables(
    lambda settings: settings.encoder == QUERY_TABLE, _teacher, _write, _checkpoint, _first
)
