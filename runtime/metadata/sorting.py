"""Sort documents by fields of their metadata and by their scores."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.metadata.columns import Metadata, Texts
from ranklet.runtime.metadata.where import check_single

SCORE = "score"


class Key(NamedTuple):
    """What documents are sorted by: a field, or their score, which always descends."""

    field: str | None  # None for the score
    descends: bool = False


def read_sort(sort: object, types: Mapping[str, str]) -> tuple[Key, ...]:
    """Return what documents are sorted by, the most important key first.

    >>> read_sort(["-year", "score"], {"year": "number"})
    (Key(field='year', descends=True), Key(field=None, descends=True))

    Args:
        sort: names of fields, "-" before those that descend, and perhaps "score".
        types: the type of each field.

    Raises:
        InputError: a field is unknown or holds lists, or a key stands twice.
    """
    if not isinstance(sort, Sequence) or isinstance(sort, str | bytes) or not sort:
        raise InputError(f'sort must be a list such as ["-date", "score"], not {sort!r:.60}')
    keys = tuple(_key(each, types) for each in sort)
    if len({each.field for each in keys}) < len(keys):
        raise InputError(f"sort: a field can order documents once, not twice as in {sort!r:.80}")
    return keys


def _key(name: object, types: Mapping[str, str]) -> Key:
    if name == SCORE and SCORE not in types:
        return Key(None, descends=True)
    if name == f"-{SCORE}" and SCORE not in types:
        raise InputError(f"sort: the best score is always first; write {SCORE!r}")
    descends = isinstance(name, str) and name not in types and name.startswith("-")
    field = name[1:] if descends else name  # type: ignore[index]
    return Key(check_single("sort", field, types, "has no single place", "sort"), descends)


def order(
    keys: Sequence[Key],
    metadata: Metadata,
    numbers: NDArray[np.integer],
    scores: NDArray[np.float32],
    reach: int | None = None,
) -> NDArray[np.intp]:
    """Return the places of the first documents in order: by the keys, then by score and number.

    Documents without a value come last, in both directions.

    Args:
        keys: what they are sorted by.
        metadata: the columns.
        numbers: the documents' numbers, (documents,).
        scores: their scores, (documents,).
        reach: how many of the first are enough; None for all.
    """
    columns = [_ascending(key, metadata, numbers, scores) for key in keys]
    some = _before(columns[0], reach)
    ranked = [numbers[some], -scores[some], *(each[some] for each in reversed(columns))]
    return some[np.lexsort(ranked)][:reach]


def _before(column: NDArray[np.float64], reach: int | None) -> NDArray[np.intp]:
    """Return the places of the least numbers, with all that are equal to the last of them."""
    if reach is None or reach >= len(column):
        return np.arange(len(column))
    if not reach:
        return np.arange(0)
    return np.flatnonzero(column <= np.partition(column, reach - 1)[reach - 1])


def _ascending(
    key: Key, metadata: Metadata, numbers: NDArray[np.integer], scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return numbers by which documents ascend in the order of a key, (documents,)."""
    if key.field is None:
        return -scores.astype(np.float64)
    column = metadata.column(key.field)
    codes = column.ordinals.codes[numbers]
    if isinstance(column, Texts) and len(column.collated):  # else all are missing
        codes = column.collated[codes]
    places: NDArray[np.float64] = codes.astype(np.float64)
    places *= -1 if key.descends else 1
    if column.missing is not None:
        places[column.missing[numbers]] = np.inf
    return places
