"""Splits, and percentages of splits: ``train``, ``train[:90%]``, ``train[90%:]``.

Which percentile a query belongs to hangs on its id alone, so a query stays where it is when others
are added, and what one command held out another finds again.
"""

import re
import zlib
from typing import NamedTuple

import numpy as np

from ranklet.runtime.errors import InputError
from ranklet.training.data.collection import Collection, Query

_SPEC = re.compile(r"([A-Za-z0-9_-]+)(?:\[(?:(\d{1,3})%)?:(?:(\d{1,3})%)?\])?")


class JudgedQuery(NamedTuple):
    """A query with what is known to be relevant to it."""

    id: str
    text: str
    relevant: dict[str, int]  # grade by document id, grades above 0 only


def percentile(query_id: str) -> int:
    """Return the percentile, 0 to 99, that a query id falls into.

    >>> percentile("q1") == percentile("q1")
    True
    """
    return zlib.crc32(query_id.encode()) % 100


def read_split(
    collection: Collection, spec: str, *, limit: int | None = None, seed: int = 0
) -> list[JudgedQuery]:
    """Read the queries of a split that have a relevant document.

    Args:
        collection: where from.
        spec: a split's name, or a percentage of it as in ``train[90%:]``.
        limit: at most so many, drawn at random and kept in order.
        seed: of the draw.

    Raises:
        InputError: the spec cannot be read, the limit is below 1, or no judged query is left.
        CollectionError: no such split, or a malformed file.
    """
    if limit is not None and limit < 1:
        raise InputError(f"at most {limit} queries: give a number above 0")
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise InputError(f"split {spec!r}: give a name, or a part of it such as train[:90%]")
    name, low, high = match[1], int(match[2] or 0), int(match[3] or 100)
    qrels = collection.qrels(name)
    found = [
        JudgedQuery(query.id, query.text, relevant)
        for query in collection.queries(name)
        if low <= percentile(query.id) < high and (relevant := _relevant(qrels, query))
    ]
    if not found:
        raise InputError(f"split {spec!r} of {collection} has no query with a relevant document")
    if limit is not None and len(found) > limit:
        chosen = np.random.default_rng(seed).choice(len(found), limit, replace=False)
        found = [found[at] for at in sorted(chosen.tolist())]
    return found


def _relevant(qrels: dict[str, dict[str, int]], query: Query) -> dict[str, int]:
    return {name: grade for name, grade in qrels.get(query.id, {}).items() if grade > 0}
