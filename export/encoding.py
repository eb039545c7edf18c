"""Encoding a collection with an exported model, so that an interrupted run goes on where it was."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.training.indexing import AnalysedCollection
from ranklet.training.progress import progress

BLOCK = 1024  # documents; what an interruption can cost


class Encodes(Protocol):
    """An exported ranker that makes a row of numbers of each document."""

    @property
    def digest(self) -> str:
        """What tells these rows from any other ranker's: the model's digest, and the limits."""
        ...

    def count_truncated(self, texts: list[str]) -> int:
        """Return how many documents are longer than it reads."""
        ...


class Rows(NamedTuple):
    """What documents became."""

    rows: NDArray[Any]  # (documents, …)
    truncated: int  # documents that were longer than the model reads and were cut


def encode_documents(
    ranker: Encodes,
    encode: Callable[[list[str]], tuple[NDArray[Any], int]],
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
        encode: returns the rows of some documents, and how many were cut.
        shape: of a row.
        dtype: of the rows.
        analysed: the collection.
        folder: where finished blocks are kept until the bundle is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = analysed.ranked_texts()
    blocks, truncated = [], 0
    places = range(0, len(texts), BLOCK)
    for begin in progress(places, f"encoding blocks of {BLOCK:,} documents"):
        block = texts[begin : begin + BLOCK]
        key = hashlib.sha256("\0".join([ranker.digest, *block]).encode("utf-8", "replace"))
        path = folder / f"{key.hexdigest()[:32]}.npy"
        rows = _read(path, (len(block), *shape), dtype)
        if rows is None:
            rows, cut = encode(block)
            _write(path, rows)
        else:
            cut = ranker.count_truncated(block)
        truncated += cut
        blocks.append(rows)
    return Rows(np.concatenate(blocks), truncated)


def _write(path: Path, vectors: NDArray[Any]) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.save(file, vectors, allow_pickle=False)
    partial.replace(path)


def _read(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any] | None:
    """Return a finished block, None where there is none or it is not whole."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return found if found.shape == shape and found.dtype == dtype else None
