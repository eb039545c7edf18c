"""Texts of like length run together, as many as a budget allows."""

from collections.abc import Callable, Iterator, Sequence


def length_batches(
    lengths: Sequence[int],
    fitting: Callable[[int], int],
    rows: Sequence[int] | None = None,
    *,
    together: bool = True,
) -> Iterator[list[int]]:
    """Yield the places of the items of each batch; the longest items come first.

    Items of like length share a batch, so that little of it is padding. An item that is over the
    budget by itself gets a batch of its own.

    Args:
        lengths: tokens per item.
        fitting: returns how many rows of a length one batch may have.
        rows: rows per item; None for one each.
        together: False runs each item alone, in the order given.

    >>> list(length_batches([2, 5, 3, 5], lambda length: 10 // length))
    [[1, 3], [2, 0]]
    >>> list(length_batches([4, 4, 4], lambda length: 12 // length, rows=[1, 2, 1]))
    [[0, 1], [2]]
    >>> list(length_batches([2, 5], lambda length: 10 // length, together=False))
    [[0], [1]]
    """
    if not together:
        yield from ([at] for at in range(len(lengths)))
        return
    batch: list[int] = []
    left = 0
    for at in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        wanted = 1 if rows is None else rows[at]
        if not batch or wanted > left:
            if batch:
                yield batch
            batch, left = [], fitting(max(1, lengths[at]))
        batch.append(at)
        left -= wanted
    if batch:
        yield batch
