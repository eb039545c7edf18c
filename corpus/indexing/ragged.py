"""Store rows of different length in one array and make padded matrices of some of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.progress import progress
from ranklet.runtime.storage.forward import Forward


def packed(rows: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offsets, (rows + 1,), and the concatenated values of all rows."""
    offsets = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
    return offsets, np.concatenate([*rows, np.empty(0, np.int64)])


def ranges(begins: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return so many numbers from each begin on, one range after the other.

    >>> ranges(np.array([5, 0, 7]), np.array([2, 0, 3])).tolist()
    [5, 6, 7, 8, 9]

    Args:
        begins: first number of each range, (ranges,).
        counts: how many numbers each has, (ranges,).
    """
    before = np.cumsum(counts, dtype=np.int64) - counts
    found = (begins - before).repeat(counts).astype(np.int64, copy=False)
    found += np.arange(len(found))
    return found


def rounded(width: int, multiple: int) -> int:
    """Return the width rounded up to a multiple.

    PyTorch's CPU library compiles a kernel for every new shape and caches a thousand of them. If
    every batch had its own width, the cache would take more memory than everything else.

    >>> rounded(65, 64)
    128
    """
    return -(-width // multiple) * multiple


def padded(
    offsets: NDArray[np.int64],
    values: NDArray[Any],
    rows: NDArray[np.integer],
    fill: float,
    multiple: int = 1,
) -> NDArray[Any]:
    """Return some rows as a matrix, as wide as the longest of them and at least 1.

    Args:
        offsets: row r is ``values[offsets[r]:offsets[r + 1]]``, (all rows + 1,).
        values: the concatenated values of all rows.
        rows: the rows to return.
        fill: the value that fills up shorter rows.
        multiple: the width is rounded up to a multiple of this; see `rounded`.

    >>> padded(np.array([0, 2, 2, 3]), np.array([7, 8, 9]), np.array([2, 0]), 0)
    array([[9, 0],
           [7, 8]])
    """
    gathered, lengths = Forward(offsets, values).gather(rows)
    width = rounded(max(1, int(lengths.max(initial=0))), multiple)
    # Ids of two bytes have no −1, which fills rows of words.
    kind = np.promote_types(values.dtype, np.min_scalar_type(fill))
    matrix = np.full((len(rows), width), fill, kind)
    matrix[np.arange(width) < lengths[:, None]] = gathered
    return matrix


def by_length(
    lengths: NDArray[np.integer],
    size: int,
    run: Callable[[NDArray[np.intp]], NDArray[np.float32]],
    label: str | None = None,
) -> NDArray[np.float32]:
    """Return the results of all rows; rows of similar length run together.

    Args:
        lengths: lengths of the rows, (rows,).
        size: rows at a time.
        run: returns the results of some rows, (some rows, …) float32.
        label: label of the progress bar; None for no bar.
    """
    order = np.argsort(lengths, kind="stable")
    blocks = [order[begin : begin + size] for begin in range(0, len(order), size)]
    results: NDArray[np.float32] = np.concatenate(
        [run(block) for block in (progress(blocks, label) if label else blocks)]
    )
    return results[np.argsort(order)]


def first_tokens(
    offsets: NDArray[np.int64], tokens: NDArray[Any], most: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the first `most` tokens of each row, as offsets and tokens.

    >>> first_tokens(np.array([0, 3, 3, 4]), np.array([7, 8, 9, 5]), 2)
    (array([0, 2, 2, 3]), array([7, 8, 5]))
    """
    lengths = np.diff(offsets)
    within = np.arange(len(tokens)) - np.repeat(offsets[:-1], lengths)
    ends = np.cumsum(np.minimum(lengths, most))
    return np.concatenate([[0], ends]).astype(np.int64), tokens[within < most]


def unique_tokens(
    offsets: NDArray[np.int64], tokens: NDArray[np.integer], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return the unique tokens of each document and P(d|D), their shares of its tokens.

    Args:
        offsets: document D's tokens are ``tokens[offsets[D]:offsets[D + 1]]``, (documents + 1,).
        tokens: the concatenated tokens of all documents.
        most: number of tokens per document that count; the rest is ignored.

    Returns:
        Offsets, (documents + 1,), unique tokens and shares, each (unique tokens of all documents,).
    """
    lengths = np.minimum(np.diff(offsets), most)
    owner = np.repeat(np.arange(len(lengths)), np.diff(offsets))
    counted = np.arange(len(tokens)) - offsets[owner] < most
    size = int(tokens.max(initial=0)) + 1
    keys = owner[counted] * size + tokens[counted].astype(np.int64)
    keys, counts = np.unique(keys, return_counts=True)
    owner = keys // size
    unique = np.bincount(owner, minlength=len(lengths))
    shares = (counts / lengths[owner]).astype(np.float32)
    return np.concatenate([[0], np.cumsum(unique)]).astype(np.int64), keys % size, shares
