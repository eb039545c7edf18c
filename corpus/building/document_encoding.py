"""Encode a collection with an exported model, except for what a bundle has encoded before.

An interrupted run continues where it stopped.
"""

import hashlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.corpus.building.resumable import Arrays, BlockCache
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.packer import packed
from ranklet.corpus.progress import progress
from ranklet.runtime.bundles.files import CUT
from ranklet.runtime.ground.errors import BundleError

BLOCK = 256  # documents; an interruption costs at most as many
ENCODING = "encoding documents"  # the step's name in a progress bar

_log = logging.getLogger(__name__)


class Encoding(NamedTuple):
    """The rows of new documents, and which of all documents were truncated."""

    origins: Origins  # of all documents; those are new that no bundle has encoded alike
    rows: NDArray[Any]  # (new documents, …), in a temporary file
    cut: NDArray[np.uint32]  # numbers of the truncated documents, ascending, (truncated,)


def encode_documents(
    encode: Callable[[list[str]], tuple[NDArray[Any], list[int]]],
    digest: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    analysed: AnalysedCollection,
    name: str,
    folder: Path | None,
) -> Encoding:
    """Encode the documents that were not encoded before.

    A finished block is stored in `folder` under a digest of its texts and of the model's variant,
    so that it is never mistaken for another block.

    Args:
        encode: returns the rows of some documents, and the indices of those that were cut.
        digest: that of `encoder_digest`.
        shape: the shape of a row.
        dtype: the type of the rows.
        analysed: the collection.
        name: the ranker's name.
        folder: keeps finished blocks until the bundle is written; None keeps none.
    """
    cache = BlockCache(folder, digest, str(shape))
    types = {"rows": np.dtype(dtype), "cut rows": np.dtype(np.int64)}

    def encoded(block: list[str]) -> Arrays:
        rows, cut = encode(block)
        return {"rows": rows, "cut rows": np.array(cut, np.int64)}

    origins, cut = encoded_before(analysed, name, digest), [np.empty(0, np.int64)]

    def pieces() -> Iterator[NDArray[Any]]:
        for begin, block in blocks(analysed, origins.new):
            arrays = cache.block("rows", tuple(block), types, partial(encoded, block))
            cut.append(arrays["cut rows"] + begin)
            yield arrays["rows"]

    rows = packed(pieces(), dtype, shape)  # also completes `cut`
    return Encoding(origins, rows, all_cut(origins, name, np.concatenate(cut)))


def blocks(
    analysed: AnalysedCollection, numbers: NDArray[np.int64]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the ranked texts of some documents in blocks, each with its first document's place."""
    for begin in progress(range(0, len(numbers), BLOCK), ENCODING):
        yield begin, analysed.documents.read_ranked_texts(numbers[begin : begin + BLOCK].tolist())


def encoder_digest(digest: str) -> str:
    """Return the digest of an encoder as a manifest has it.

    Args:
        digest: a text that changes whenever the rows would, of the model and the limits.
    """
    return hashlib.sha256(digest.encode()).hexdigest()


def encoded_before(analysed: AnalysedCollection, name: str, digest: str) -> Origins:
    """Return where documents were encoded by the same model, so that it need not read them again.

    Args:
        analysed: the collection.
        name: the ranker's name.
        digest: that of `encoder_digest`.
    """
    origins = analysed.origins
    usable = [bundle.manifest.rankers[name].encoder == digest for bundle in origins.bundles]
    if not all(usable):
        _log.info("%s: another variant of the model encoded documents before, or it is not "
                  "known which; they are encoded again", name)  # fmt: skip
    return origins.only(usable)


def all_cut(origins: Origins, name: str, new: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the numbers of all documents that were truncated, ascending, (truncated,) uint32.

    Args:
        origins: where the documents were indexed before.
        name: the ranker's name.
        new: the truncated ones among the new documents, by their places.

    Raises:
        BundleError: an earlier bundle names a document that it does not have.
    """
    flags = []
    for bundle in origins.bundles:
        cut = bundle.array(f"rankers/{name}/{CUT}", np.uint32, (None,))
        count = bundle.manifest.documents
        if len(cut) and cut.max() >= count:
            raise BundleError(f"{bundle.path}: {name}: {CUT} has a document past the last")
        flags.append(np.isin(np.arange(count), cut))
    flags.append(np.zeros(len(origins.new), np.bool_))
    flags[-1][new] = True
    found = [flags[run.part][run.begin : run.end] for run in origins.runs()]
    return np.flatnonzero(np.concatenate(found)).astype(np.uint32)


def warn_of_long_documents(
    name: str, truncated: int, analysed: AnalysedCollection, limit: int, unit: str = "tokens"
) -> None:
    """Log a warning if some of a ranker's documents are longer than it reads."""
    if truncated:
        _log.warning(
            "%s: %s of %s %s are longer than the %s %s that it reads, so they were cut",
            name, f"{truncated:,}", f"{len(analysed.documents):,}", analysed.unit, f"{limit:,}",
            unit,
        )  # fmt: skip
