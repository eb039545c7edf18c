"""The cut of a text to what a model reads: one rule for training and serving."""

from collections.abc import Sequence


def cut(ids: Sequence[int], most: int) -> list[int]:
    """Return at most `most` token ids: the end goes, but for the last one, which is [SEP].

    >>> cut([101, 7, 8, 9, 102], 4)
    [101, 7, 8, 102]

    Args:
        ids: with [CLS] and [SEP] around them.
        most: from 2.
    """
    return list(ids) if len(ids) <= most else [*ids[: most - 1], ids[-1]]
