"""Index a collection as the token vectors of its documents."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.export.document_encoding import BLOCK, ENCODING, warn_of_long_documents
from ranklet.export.resumable import Arrays, BlockCache
from ranklet.export.writer import BundleWriter
from ranklet.runtime.rankers import KINDS
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder, TokenEncoder
from ranklet.runtime.rankers.colbert.ranker import EXHAUSTIVE
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

_log = logging.getLogger(__name__)


class Column(NamedTuple):
    """An array of a document's tokens, end to end.

    Attributes:
        file: its name in the ranker's folder.
        dtype: of its numbers.
        shape: of the numbers of a token.
    """

    file: str
    dtype: DTypeLike
    shape: tuple[int, ...]


class Encoded(NamedTuple):
    """Some documents as they are stored."""

    offsets: NDArray[np.int64]  # tokens of document d are at offsets[d]:offsets[d + 1]
    columns: Sequence[NDArray[Any]]
    cut: list[int]  # indices of the documents that were truncated


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Encode every document with the exported model, and write the vectors in their stored form."""
    encoder = ColBERTEncoder.open(source, name, many=True)
    writer.copy(source, f"rankers/{name}/", leave_out=(OFFSETS, VALUES, SCALES))
    return index_vectors(source, name, analysed, writer, encoder)


def index_vectors(
    source: BundleFiles,
    name: str,
    analysed: AnalysedCollection,
    writer: BundleWriter,
    encoder: TokenEncoder,
) -> RankerEntry:
    """Write the vectors of all documents in their stored form; see `index_tokens`."""
    settings = encoder.settings
    columns = (
        Column(VALUES, np.dtype(settings.element), (settings.dimension,)),
        Column(SCALES, np.dtype(np.float32), ()),
    )

    def encoded(texts: Sequence[str]) -> Encoded:
        store, cut = encoder.stored_vectors(texts)
        return Encoded(store.offsets, store.vectors, cut)

    return index_tokens(source, name, analysed, writer, encoder, OFFSETS, columns, encoded)


def index_tokens(
    source: BundleFiles,
    name: str,
    analysed: AnalysedCollection,
    writer: BundleWriter,
    encoder: TokenEncoder,
    offsets_file: str,
    columns: Sequence[Column],
    encode: Callable[[Sequence[str]], Encoded],
) -> RankerEntry:
    """Write what is stored of the tokens of all documents, and return the ranker's entry.

    A finished block of documents is kept, so that an interrupted run continues.

    Args:
        source: the bundle without the collection.
        name: of the ranker.
        analysed: the collection.
        writer: of the bundle with it.
        encoder: its digest changes whenever what is stored would.
        offsets_file: name of the file of the documents' offsets.
        columns: what is stored.
        encode: returns the columns of some documents.
    """
    settings, texts = encoder.settings, analysed.ranked_texts()
    folder = f"rankers/{name}/"
    cache = BlockCache(writer.resume_folder / name, encoder.digest, str(settings.dimension))
    types: dict[str, DTypeLike] = {"lengths": np.dtype(np.int64), "cut": np.dtype(np.int64)}
    types |= {_key(column): column.dtype for column in columns}

    def block_of(own: Sequence[str]) -> Arrays:
        made = encode(own)
        arrays = {_key(each): values for each, values in zip(columns, made.columns, strict=True)}
        cut = np.array(len(made.cut), np.int64)
        return {"lengths": np.diff(made.offsets), "cut": cut, **arrays}

    lengths, truncated = [np.zeros(1, np.int64)], 0
    with ExitStack() as files:
        written = [files.enter_context(TemporaryFile()) for _ in columns]
        for begin in progress(range(0, len(texts), BLOCK), ENCODING):
            block = texts[begin : begin + BLOCK]
            arrays = cache.block("tokens", tuple(block), types, partial(block_of, block))
            lengths.append(arrays["lengths"])
            truncated += int(arrays["cut"])
            for column, file in zip(columns, written, strict=True):
                file.write(arrays[_key(column)].tobytes())
        offsets = np.cumsum(np.concatenate(lengths))
        count, size = int(offsets[-1]), offsets.nbytes
        writer.array(folder + offsets_file, offsets)
        for column, file in zip(columns, written, strict=True):
            values = _mapped(file, column.dtype, (count, *column.shape))
            size += values.nbytes
            writer.array(folder + column.file, values)
    warn_of_long_documents(name, truncated, analysed, settings.max_document_tokens)
    _warn_if_slow(source, name, count)
    documents = len(analysed.documents)
    measured = {
        "truncated": truncated,
        "vectors_per_document": round(count / documents, 1),
        "bytes_per_document": round(size / documents, 1),
    }
    return replace(source.manifest.rankers[name], measured=measured)


def _key(column: Column) -> str:
    return column.file.removesuffix(".npy")


def _mapped(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the content of a temporary file, which vanishes with it."""
    file.flush()
    return np.memmap(file, dtype, "r", shape=shape) if shape[0] else np.empty(shape, dtype)


def _warn_if_slow(source: BundleFiles, name: str, count: int) -> None:
    """Log a warning if only exhaustive scoring retrieves from a large collection."""
    kinds = [KINDS[entry.kind] for entry in source.manifest.rankers.values()]
    if count > EXHAUSTIVE and not any(kind.index in ("impacts", "dense") for kind in kinds):
        _log.warning(
            "%s scores all %s vectors of the collection for every query, which takes long beyond "
            "%s; export also a ranker with an index, such as BM25, so that it rescores",
            name, f"{count:,}", f"{EXHAUSTIVE:,}",
        )  # fmt: skip
