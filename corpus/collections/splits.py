"""Read splits and percentages of splits, such as ``train``, ``train[:90%]``, ``train[90%:]``.

Two queries that share a relevant document, directly or through a chain of queries, always fall into
the same part. Otherwise a ranker that learned from one part would have seen answers of the other.
Such a group of queries has one percentile, which depends only on its smallest query id, and a query
that shares nothing is a group of its own. So two commands agree on which queries are held out.

A group stays where it is when queries are added, unless one of these shares a relevant document
with it. Then the group may grow, take the place of a new smallest id, or merge with another group.
Train and tune again in that case, because a held-out query may have become one to learn from.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ranklet.corpus.collections.collection import Collection, Query
from ranklet.corpus.progress import warn
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import check_type

FAR = 2  # a part is far from its share if it has this many times its share, or one such fraction

_SPEC = re.compile(r"([A-Za-z0-9_-]+)(?:\[(?:(\d{1,3})%)?:(?:(\d{1,3})%)?\])?")


class JudgedQuery(NamedTuple):
    """A query with the documents that are known to be relevant; none if nothing judged is."""

    id: str
    text: str
    relevant: dict[str, int]  # grade by document id, only grades above 0


JudgedQueries = Sequence[JudgedQuery]
Qrels = Mapping[str, Mapping[str, int]]  # grade by query id and document id


class Part(NamedTuple):
    """The queries of a split whose percentiles are in a range, from `low` to below `high`."""

    name: str
    low: int
    high: int

    @property
    def whole(self) -> bool:
        """Whether the part is the split itself."""
        return (self.low, self.high) == (0, 100)

    def among(self, qrels: Qrels) -> Callable[[str], bool]:
        """Return a function that says whether a query of the split is in this part.

        Args:
            qrels: all judgements of the split.
        """
        if self.whole:
            return lambda _: True
        group = groups(qrels)
        return lambda query_id: self.low <= percentile(group.get(query_id, query_id)) < self.high


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


def groups(qrels: Qrels) -> dict[str, str]:
    """Return the smallest query id of each judged query's group.

    The groups are the connected components of the graph of queries and their relevant documents,
    found by union-find with path halving.

    >>> groups({"q3": {"a": 1}, "q2": {"a": 1, "b": 1}, "q1": {"b": 1}, "q4": {"b": 0}})
    {'q3': 'q1', 'q2': 'q1', 'q1': 'q1', 'q4': 'q4'}
    """
    parent = {query: query for query in qrels}

    def root(query: str) -> str:
        while parent[query] != query:
            parent[query] = query = parent[parent[query]]
        return query

    first: dict[str, str] = {}  # a query of each relevant document
    for query, grades in qrels.items():
        for document, grade in grades.items():
            if grade > 0:
                one, other = root(query), root(first.setdefault(document, query))
                parent[max(one, other)] = min(one, other)
    return {query: root(query) for query in qrels}


def percentile(query_id: str) -> int:
    """Return the percentile of a group whose smallest query id is this one, 0 to 99.

    >>> percentile("q1") == percentile("q1")
    True
    """
    return zlib.crc32(query_id.encode()) % 100


def read_split(
    collection: Collection, spec: str, *, limit: int | None = None, unanswered: bool = False
) -> list[JudgedQuery]:
    """Read the queries of a split that have a relevant document.

    A large group of queries may make a part much larger or smaller than its percentages say, and a
    warning then gives its real share.

    Args:
        collection: the collection.
        spec: the name of a split, or a percentage of it as in ``train[90%:]``.
        limit: maximum number of queries, drawn at random and kept in order.
        unanswered: whether queries of which nothing that was judged is relevant are read, too.

    Raises:
        InputError: the spec is malformed, the limit is below 1, or no judged query is left.
        CollectionError: the split does not exist, or a file is malformed.
    """
    if limit is not None and limit < 1:
        raise InputError(f"at most {limit} queries were requested; use a limit above 0")
    check_type("collection", collection, Collection)
    part = parse_split(spec)
    qrels = collection.qrels(part.name)
    split = [
        JudgedQuery(query.id, query.text, relevant)
        for query in collection.queries(part.name)
        if (relevant := _relevant(qrels, query)) or (unanswered and query.id in qrels)
    ]
    has = part.among(qrels)
    queries = [query for query in split if has(query.id)]
    together = _together(part, len(queries), split, qrels)
    if not queries:
        raise InputError(
            f"split {spec!r} of {collection.path} has no "
            + ("judged query" if unanswered else "query with a relevant document")
            + (f"; {together}; name other percentages or another split" if together else "")
        )
    if together:
        share = f"{len(queries):,} of the {len(split):,} queries of {part.name}"
        warn(f"{spec} has {share}, {len(queries) / len(split):.1%}; {together}")
    if limit is not None and len(queries) > limit:
        chosen = np.random.default_rng(0).choice(len(queries), limit, replace=False)
        queries = [queries[index] for index in sorted(chosen.tolist())]
    return queries


def _relevant(qrels: dict[str, dict[str, int]], query: Query) -> dict[str, int]:
    return {name: grade for name, grade in qrels.get(query.id, {}).items() if grade > 0}


def _together(part: Part, count: int, split: JudgedQueries, qrels: Qrels) -> str:
    """Explain why a part of `count` queries is far from its share; "" if it is not."""
    wanted = len(split) * (part.high - part.low) / 100
    if part.whole or not split or wanted / FAR <= count <= wanted * FAR:
        return ""
    group = groups(qrels)
    largest = max(Counter(group[query.id] for query in split).values())
    if largest == 1:
        return ""
    return (
        "queries that share relevant documents stay together, and the largest such group has "
        f"{largest:,}"
    )
