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

from ranklet.corpus.building.document_encoding import (
    all_cut,
    blocks,
    encoded_before,
    encoder_digest,
    warn_of_long_documents,
)
from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.resumable import Arrays, BlockCache
from ranklet.corpus.indexing.origins import join_column, join_offsets
from ranklet.corpus.indexing.packer import packed
from ranklet.runtime.bundles.files import CUT, BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder, TokenEncoder
from ranklet.runtime.rankers.colbert.ranker import EXHAUSTIVE
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES

INDEXED = (OFFSETS, VALUES, SCALES, CUT)  # what `index` writes

_log = logging.getLogger(__name__)


class Column(NamedTuple):
    """An array of a document's tokens, end to end.

    Attributes:
        file: the file's name in the ranker's folder.
        dtype: the type of the array's numbers.
        shape: the shape of a token's numbers.
    """

    file: str
    dtype: DTypeLike
    shape: tuple[int, ...]


class Encoded(NamedTuple):
    """Some documents as they are stored."""

    offsets: NDArray[np.int64]  # tokens of document d are at offsets[d]:offsets[d + 1]
    columns: Sequence[NDArray[Any]]
    cut: list[int]  # indices of the documents that were truncated


def index(job: IndexJob) -> RankerEntry:
    """Encode every document with the exported model, and write the vectors in their stored form."""
    job.copy(leave_out=INDEXED)
    return index_vectors(job, ColBERTEncoder.open(job.source, job.name, many=True))


def index_vectors(job: IndexJob, encoder: TokenEncoder) -> RankerEntry:
    """Write the vectors of all documents in their stored form; see `index_tokens`."""
    settings = encoder.settings
    columns = (
        Column(VALUES, np.dtype(settings.element), (settings.dimension,)),
        Column(SCALES, np.dtype(np.float32), ()),
    )

    def encoded(texts: Sequence[str]) -> Encoded:
        store, cut = encoder.encode_stored(texts)
        return Encoded(store.offsets, store.vectors, cut)

    return index_tokens(job, encoder, OFFSETS, columns, encoded)


def index_tokens(
    job: IndexJob,
    encoder: TokenEncoder,
    offsets_file: str,
    columns: Sequence[Column],
    encode: Callable[[Sequence[str]], Encoded],
) -> RankerEntry:
    """Write what is stored of the tokens of all documents, and return the ranker's entry.

    Documents that a bundle has encoded alike are not encoded again. A finished block of documents
    is kept, so that an interrupted run continues.

    Args:
        job: the ranker and the collection.
        encoder: the encoder, whose digest changes whenever what is stored would.
        offsets_file: name of the file of the documents' offsets.
        columns: what is stored.
        encode: returns the columns of some documents.
    """
    settings, name, analysed = encoder.settings, job.name, job.analysed
    folder, writer = job.folder, job.writer
    cache = BlockCache(writer.resume(name), encoder.digest, str(settings.dimension))
    types: dict[str, DTypeLike] = {"lengths": np.dtype(np.int64), "cut rows": np.dtype(np.int64)}
    types |= {_key(column): column.dtype for column in columns}

    def block_of(own: Sequence[str]) -> Arrays:
        made = encode(own)
        arrays = {_key(each): values for each, values in zip(columns, made.columns, strict=True)}
        cut = np.array(made.cut, np.int64)
        return {"lengths": np.diff(made.offsets), "cut rows": cut, **arrays}

    origins = encoded_before(analysed, name, encoder_digest(encoder.digest))
    lengths, cut = [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
    with ExitStack() as files:
        written = [files.enter_context(TemporaryFile()) for _ in columns]
        for begin, block in blocks(analysed, origins.new):
            arrays = cache.block("tokens", tuple(block), types, partial(block_of, block))
            lengths.append(arrays["lengths"])
            cut.append(arrays["cut rows"] + begin)
            for column, file in zip(columns, written, strict=True):
                file.write(arrays[_key(column)].tobytes())
        stored = [bundle.offsets(folder + offsets_file) for bundle in origins.bundles]
        parts = [*stored, np.cumsum(np.concatenate(lengths))]
        offsets = join_offsets(origins, parts)
        size = offsets.nbytes
        writer.array(folder + offsets_file, offsets)
        for column, file in zip(columns, written, strict=True):
            new = _map_file(file, column.dtype, (int(parts[-1][-1]), *column.shape))
            sources = [
                bundle.array(folder + column.file, column.dtype, (int(own[-1]), *column.shape))
                for bundle, own in zip(origins.bundles, stored, strict=True)
            ]
            pieces = join_column(origins, parts, [*sources, new])
            values = packed(pieces, column.dtype, column.shape)
            size += values.nbytes
            writer.array(folder + column.file, values)
    every_cut = all_cut(origins, name, np.concatenate(cut))
    writer.array(folder + CUT, every_cut)
    count, truncated = int(offsets[-1]), len(every_cut)
    warn_of_long_documents(name, truncated, analysed, settings.max_document_tokens)
    _warn_if_slow(job.source, name, count)
    documents = len(analysed.documents)
    measured = {
        "truncated": truncated,
        "vectors_per_document": round(count / documents, 1),
        "bytes_per_document": round(size / documents, 1),
    }
    return replace(job.entry, measured=measured, encoder=encoder_digest(encoder.digest))


def _key(column: Column) -> str:
    return column.file.removesuffix(".npy")


def _map_file(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the content of a temporary file, which vanishes with it."""
    file.flush()
    return np.memmap(file, dtype, "r", shape=shape) if shape[0] else np.empty(shape, dtype)


def _warn_if_slow(source: BundleFiles, name: str, count: int) -> None:
    """Log a warning if only exhaustive scoring retrieves from a large collection."""
    kinds = [KINDS[entry.kind] for entry in source.manifest.rankers.values()]
    if count > EXHAUSTIVE and not any(kind.finds for kind in kinds):
        _log.warning(
            "%s scores all %s vectors of the collection for every query, which takes long beyond "
            "%s; export also a ranker with an index, such as BM25, so that it rescores",
            name, f"{count:,}", f"{EXHAUSTIVE:,}",
        )  # fmt: skip


INDEXER = Indexer(index, indexed=INDEXED, parts={})
