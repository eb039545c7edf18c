"""Index a collection as the token vectors of its documents."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.export.document_encoding import BLOCK, ENCODING, warn_of_long_documents
from ranklet.export.rankers.colbert.stored_forms import bytes_of
from ranklet.export.resumable import Arrays, BlockCache
from ranklet.export.writer import BundleWriter
from ranklet.runtime.dense.maxsim import Quantised, TokenStore
from ranklet.runtime.rankers import KINDS
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder
from ranklet.runtime.rankers.colbert.ranker import EXHAUSTIVE
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

_log = logging.getLogger(__name__)


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Encode every document with the exported model, and write the vectors in their stored form.

    A finished block of documents is kept, so that an interrupted run continues.
    """
    encoder, folder = ColBERTEncoder.open(source, name, many=True), f"rankers/{name}/"
    settings, texts = encoder.settings, analysed.ranked_texts()
    writer.copy(source, folder, leave_out=(OFFSETS, VALUES, SCALES))
    cache = BlockCache(writer.resume_folder / name, encoder.digest, str(settings.dimension))
    types: dict[str, DTypeLike] = {
        "lengths": np.dtype(np.int64), "values": np.dtype(settings.element),
        "scales": np.dtype(np.float32), "cut": np.dtype(np.int64),
    }  # fmt: skip
    lengths, truncated = [np.zeros(1, np.int64)], 0
    with TemporaryFile() as values, TemporaryFile() as scales:
        for begin in progress(range(0, len(texts), BLOCK), ENCODING):
            block = texts[begin : begin + BLOCK]
            arrays = cache.block("tokens", tuple(block), types, partial(_encoded, encoder, block))
            lengths.append(arrays["lengths"])
            truncated += int(arrays["cut"])
            values.write(arrays["values"].tobytes())
            scales.write(arrays["scales"].tobytes())
        offsets = np.cumsum(np.concatenate(lengths))
        count = int(offsets[-1])
        vectors = Quantised(
            _mapped(values, settings.element, (count, settings.dimension)),
            _mapped(scales, np.float32, (count,)),
        )
        writer.array(folder + OFFSETS, offsets)
        writer.array(folder + VALUES, vectors.values)
        writer.array(folder + SCALES, vectors.scales)
        size = bytes_of(TokenStore(offsets, vectors))
    warn_of_long_documents(name, truncated, analysed, settings.max_document_tokens)
    _warn_if_slow(source, name, count)
    documents = len(analysed.documents)
    measured = {
        "truncated": truncated,
        "vectors_per_document": round(count / documents, 1),
        "bytes_per_document": round(size / documents, 1),
    }
    return replace(source.manifest.rankers[name], measured=measured)


def _encoded(encoder: ColBERTEncoder, texts: Sequence[str]) -> Arrays:
    store, cut = encoder.stored_vectors(texts)
    return {
        "lengths": np.diff(store.offsets),
        "values": store.vectors.values,
        "scales": store.vectors.scales,
        "cut": np.array(len(cut), np.int64),
    }


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
