"""Batch texts of similar length, as many as a budget allows."""

from collections.abc import Callable, Iterator, Sequence

TOKEN_BUDGET = 16_384  # maximum number of padded tokens per batch on a GPU


def length_batches(
    lengths: Sequence[int],
    fitting: Callable[[int], int],
    rows: Sequence[int] | None = None,
    *,
    together: bool = True,
) -> Iterator[list[int]]:
    """Yield the indices of the items of each batch, starting with the longest items.

    Items of similar length share a batch, so that little of it is padding. An item that exceeds the
    budget gets a batch of its own.

    Args:
        lengths: tokens per item.
        fitting: returns how many rows of a given length fit into one batch.
        rows: rows per item; None for one row per item.
        together: whether to batch items; False yields each item alone, in order.

    >>> list(length_batches([2, 5, 3, 5], lambda length: 10 // length))
    [[1, 3], [2, 0]]
    >>> list(length_batches([4, 4, 4], lambda length: 12 // length, rows=[1, 2, 1]))
    [[0, 1], [2]]
    >>> list(length_batches([2, 5], lambda length: 10 // length, together=False))
    [[0], [1]]
    """
    if not together:
        yield from ([index] for index in range(len(lengths)))
        return
    batch: list[int] = []
    left = 0  # number of rows that still fit into the batch
    for index in sorted(range(len(lengths)), key=lambda item: -lengths[item]):
        needed = 1 if rows is None else rows[index]
        if not batch or needed > left:
            if batch:
                yield batch
            batch, left = [], fitting(max(1, lengths[index]))
        batch.append(index)
        left -= needed
    if batch:
        yield batch


def rows_in_budget(length: int) -> int:
    """Return how many rows of `length` tokens fit into one batch on a GPU."""
    return TOKEN_BUDGET // length
