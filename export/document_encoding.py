"""Encoding a collection with an exported model, so that an interrupted run goes on where it was."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.export.resumable import Arrays, KeptBlocks
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

BLOCK = 1024  # documents; what an interruption can cost


class Encodes(Protocol):
    """An exported ranker that makes a row of numbers of each document."""

    @property
    def digest(self) -> str:
        """What tells these rows from any other ranker's: the model's digest, and the limits."""
        ...


class Rows(NamedTuple):
    """What documents became."""

    rows: NDArray[Any]  # (documents, …)
    truncated: int  # documents that were longer than the model reads and were cut


def encode_documents(
    ranker: Encodes,
    encode: Callable[[list[str]], tuple[NDArray[Any], list[int]]],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    analysed: AnalysedCollection,
    folder: Path,
) -> Rows:
    """Return the rows of all documents, and how many of these were longer than the model reads.

    Each block is kept in `folder` under a digest of its texts and of the model's variant, so that a
    block is never taken for another's.

    Args:
        ranker: an exported encoder.
        encode: returns the rows of some documents, and the places of those that were cut.
        shape: of a row.
        dtype: of the rows.
        analysed: the collection.
        folder: where finished blocks are kept until the bundle is written.
    """
    texts, kept = analysed.ranked_texts(), KeptBlocks(folder, ranker.digest, str(shape))
    types = {"rows": np.dtype(dtype), "cut": np.dtype(np.int64)}

    def encoded(block: list[str]) -> Arrays:
        rows, cut = encode(block)
        return {"rows": rows, "cut": np.array(len(cut), np.int64)}

    blocks, truncated = [], 0
    places = range(0, len(texts), BLOCK)
    for begin in progress(places, f"encoding blocks of {BLOCK:,} documents"):
        block = texts[begin : begin + BLOCK]
        found = kept.block("rows", tuple(block), types, partial(encoded, block))
        blocks.append(found["rows"])
        truncated += int(found["cut"])
    return Rows(np.concatenate(blocks), truncated)
