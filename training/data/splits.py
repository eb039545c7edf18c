"""Read splits and percentages of splits, such as ``train``, ``train[:90%]``, ``train[90%:]``.

A query's percentile depends only on its id. So a query stays in its part when others are added, and
two commands agree on which queries are held out.
"""

import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranklet.runtime.errors import InputError
from ranklet.training.data.collection import Collection, Query

_SPEC = re.compile(r"([A-Za-z0-9_-]+)(?:\[(?:(\d{1,3})%)?:(?:(\d{1,3})%)?\])?")


class JudgedQuery(NamedTuple):
    """A query with the documents that are known to be relevant."""

    id: str
    text: str
    relevant: dict[str, int]  # grade by document id, only grades above 0


JudgedQueries = Sequence[JudgedQuery]


class Part(NamedTuple):
    """The queries of a split whose percentiles are in a range, from `low` to below `high`."""

    name: str
    low: int
    high: int

    def has(self, query_id: str) -> bool:
        """Return whether a query of the split is in this part."""
        return self.low <= percentile(query_id) < self.high


def parse_split(spec: str) -> Part:
    """Read the name of a split, or a percentage of it.

    Raises:
        InputError: the spec is malformed, or the range is empty.

    >>> parse_split("train[90%:]")
    Part(name='train', low=90, high=100)
    """
    match = _SPEC.fullmatch(spec)
    part = Part(match[1], int(match[2] or 0), int(match[3] or 100)) if match else Part("", 0, 0)
    if not part.low < part.high <= 100:
        raise InputError(
            f"split {spec!r}: give a name or a percentage of it such as train[:90%] or train[90%:]"
        )
    return part


def percentile(query_id: str) -> int:
    """Return the percentile of a query id, 0 to 99.

    >>> percentile("q1") == percentile("q1")
    True
    """
    return zlib.crc32(query_id.encode()) % 100


def read_split(
    collection: Collection, spec: str, *, limit: int | None = None, seed: int = 0
) -> list[JudgedQuery]:
    """Read the queries of a split that have a relevant document.

    Args:
        collection: the collection.
        spec: the name of a split, or a percentage of it as in ``train[90%:]``.
        limit: maximum number of queries, drawn at random and kept in order.
        seed: random seed of the draw.

    Raises:
        InputError: the spec is malformed, the limit is below 1, or no judged query is left.
        CollectionError: the split does not exist, or a file is malformed.
    """
    if limit is not None and limit < 1:
        raise InputError(f"at most {limit} queries were requested; use a limit above 0")
    part = parse_split(spec)
    qrels = collection.qrels(part.name)
    queries = [
        JudgedQuery(query.id, query.text, relevant)
        for query in collection.queries(part.name)
        if part.has(query.id) and (relevant := _relevant(qrels, query))
    ]
    if not queries:
        raise InputError(
            f"split {spec!r} of {collection.path} has no query with a relevant document"
        )
    if limit is not None and len(queries) > limit:
        chosen = np.random.default_rng(seed).choice(len(queries), limit, replace=False)
        queries = [queries[index] for index in sorted(chosen.tolist())]
    return queries


def _relevant(qrels: dict[str, dict[str, int]], query: Query) -> dict[str, int]:
    return {name: grade for name, grade in qrels.get(query.id, {}).items() if grade > 0}
