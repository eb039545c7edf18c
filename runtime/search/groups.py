"""Which of the ranked documents come back: a page of them, those above a score, some per group."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import Ask
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime.metadata.columns import Metadata


def chosen(
    ask: Ask, scores: NDArray[np.float32], groups: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Return the places of the documents that come back, best first.

    >>> scores = np.array([5, 4, 3, 2, 1], np.float32)
    >>> chosen(Ask(k=2, offset=1, min_score=2.5), scores, None).tolist()
    [1, 2]
    >>> chosen(Ask(k=2, group_by="x"), scores, np.array([7, 7, 8, 7, 9])).tolist()
    [0, 2]

    Args:
        ask: how many, of what score, and how many of each group.
        scores: the scores of all ranked documents, best first, (documents,).
        groups: the number of each one's group, (documents,); None without groups.
    """
    count = above(scores, ask.min_score)
    if groups is None:
        return np.arange(count)[ask.offset : ask.reach]
    rank, earlier = _in_groups(groups[:count])
    kept = (rank >= ask.offset) & (rank < ask.reach) & (earlier < ask.group_size)
    return np.flatnonzero(kept)


def above(scores: NDArray[np.float32], least: float | None) -> int:
    """Return how many documents reach the least score, if there is one."""
    if least is None:
        return len(scores)
    return int(np.count_nonzero(scores.astype(np.float64) >= least))


def _in_groups(groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rank of each document's group, and how many of its group come before it.

    Groups are ranked by their first documents.
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    rank_of = np.empty(len(first), np.intp)
    rank_of[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(group, kind="stable")  # group by group, best first within each
    begins = np.cumsum(np.bincount(group, minlength=len(first))) - np.bincount(
        group, minlength=len(first)
    )
    earlier = np.empty(len(group), np.intp)
    earlier[order] = np.arange(len(group)) - begins[group[order]]
    return rank_of[group], earlier


def number_groups(name: str, numbers: NDArray[np.uint32], metadata: "Metadata") -> NDArray[np.intp]:
    """Return the number of each document's group, (documents,); equal values make a group.

    A document without a value is a group of its own.

    Args:
        name: a field with single values.
        numbers: the documents' numbers, (documents,).
        metadata: the columns.
    """
    from ranklet.runtime.metadata.columns import Ordered  # few calls group

    column = metadata.column(name)
    if not isinstance(column, Ordered):  # unreachable after the check
        raise InputError(f"group_by: {name!r} has no single values")
    _, groups = np.unique(column.keys[numbers], return_inverse=True)
    if column.missing is not None:
        alone = np.flatnonzero(column.missing[numbers])
        groups[alone] = len(numbers) + np.arange(len(alone))
    return groups
