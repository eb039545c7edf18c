"""Encode a collection with an exported model; an interrupted run continues where it stopped."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.export.resumable import Arrays, BlockCache
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

BLOCK = 1024  # documents; an interruption costs at most as many
ENCODING = "encoding documents"  # the step's name in a progress bar

_log = logging.getLogger(__name__)


def encode_documents(
    encode: Callable[[list[str]], tuple[NDArray[Any], list[int]]],
    digest: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    analysed: AnalysedCollection,
    folder: Path,
) -> tuple[NDArray[Any], int]:
    """Return the rows of all documents, (documents, …), and the number of documents that were cut.

    A finished block is stored in `folder` under a digest of its texts and of the model's variant,
    so that it is never mistaken for another block.

    Args:
        encode: returns the rows of some documents, and the indices of those that were cut.
        digest: a text that changes whenever the rows would, of the model and the limits.
        shape: of a row.
        dtype: of the rows.
        analysed: the collection.
        folder: keeps finished blocks until the bundle is written.
    """
    texts, cache = analysed.ranked_texts(), BlockCache(folder, digest, str(shape))
    types = {"rows": np.dtype(dtype), "cut": np.dtype(np.int64)}

    def encoded(block: list[str]) -> Arrays:
        rows, cut = encode(block)
        return {"rows": rows, "cut": np.array(len(cut), np.int64)}

    rows, truncated = [], 0
    begins = range(0, len(texts), BLOCK)
    for begin in progress(begins, ENCODING):
        block = texts[begin : begin + BLOCK]
        arrays = cache.block("rows", tuple(block), types, partial(encoded, block))
        rows.append(arrays["rows"])
        truncated += int(arrays["cut"])
    return np.concatenate(rows), truncated


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
