"""Search approximately by a graph of vectors (HNSW, Malkov & Yashunin 2018), through usearch.

The graph is mapped and not read into memory, and has the vectors in 16 bits. What it finds is
scored by the vectors themselves.

The file is checked, because usearch follows any number that it reads. The layout is the one of
usearch 2, little-endian: the vectors, 64 bytes about them, 40 bytes about the graph, the level of
each vector, and for each its key, its level, and its links on every level.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from importlib.util import find_spec
from math import ceil
from struct import unpack_from
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, checked_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.stored import GATHERED, ExactIndex, StoredVectors
from ranklet.runtime.errors import BundleError, MissingPackageError
from ranklet.runtime.extras import hinted
from ranklet.runtime.onnx.session import onnxruntime

_VISITED = 8  # taking one more vector from the graph takes as long as comparing 8 exactly
_SPARE = 2  # the last of what is taken from the graph are found less surely
_HEAD, _GRAPH = 64, 40  # bytes about the vectors and about the graph
# Inner products of float16, keys in 64 bits and numbers in 32, after "usearch" and its version.
_KINDS = bytes((0x69, 0x0C, 0x0E, 0x0F))
_NODE = 10  # bytes before a node's links: its key and its level
_CHECKED = 1 << 13  # nodes that are checked at a time


class Graph(ABC):
    """A graph of vectors, and how it is searched.

    Args:
        vectors: the vectors themselves, in any form.
        ef: candidates while searching; a search for more documents raises it.
    """

    def __init__(self, vectors: StoredVectors, ef: int) -> None:
        self._vectors, self._size, self._ef = vectors, len(vectors), ef
        self._exact = ExactIndex(vectors)

    @abstractmethod
    def nearest(self, query: NDArray[np.float32], k: int) -> Scored:
        """Return the k nearest vectors with their inner products, or as many as can be reached."""

    def search(self, query: NDArray[np.float32], k: int, allowed: Mask | None = None) -> Scored:
        """Return approximately the k documents with the largest inner product, best first.

        With a mask, k documents are returned if it allows so many. More than k are then taken from
        the graph, and twice as many each time until k of them are allowed. Once that would take
        longer than comparing all allowed vectors, these are compared.

        Args:
            query: (dimension,) float32.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """
        mask = checked_mask(allowed, self._size)
        count = self._size if mask is None else int(np.count_nonzero(mask))
        k = min(k, count)
        if k <= 0:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        if mask is None:
            numbers, scores = self.nearest(query, k)
            # No link leads to some vectors, so that the graph may have fewer.
            return _best(numbers, scores, k) if len(numbers) == k else self._exact.search(query, k)
        taken = max(self._ef, ceil(_SPARE * k * self._size / count))
        while taken * _VISITED < min(count, self._size / GATHERED):
            numbers, scores = self.nearest(query, taken)
            kept = mask[numbers]
            if np.count_nonzero(kept) >= k:
                return _best(numbers[kept], scores[kept], k)
            if len(numbers) < taken:
                break
            taken *= 2
        return self._exact.search(query, k, mask)


def _best(numbers: NDArray[np.uint32], scores: NDArray[np.float32], k: int) -> Scored:
    """Return the k best of some vectors, best first, ties by number."""
    best = top_k(scores, k, ties=numbers)
    return numbers[best], scores[best]


def is_installed() -> bool:
    """Return whether graphs can be built and searched."""
    return find_spec("usearch") is not None


def build(
    vectors: NDArray[np.float32] | StoredVectors, *, m: int = 16, ef_construction: int = 200
) -> bytes:
    """Return the file of a graph over the vectors; equal vectors give equal bytes.

    One thread adds them, because with several threads the graph differs from run to run.

    Args:
        vectors: (documents, dimension) float32, or in any stored form.
        m: links per vector on each level, and twice as many on the lowest.
        ef_construction: candidates while building.

    Raises:
        MissingPackageError: usearch is not installed.
    """
    index = _empty(vectors.shape[1], m=m, ef_construction=ef_construction)
    for begin in range(0, len(vectors), _CHECKED):
        rows = slice(begin, min(begin + _CHECKED, len(vectors)))
        part = vectors.floats(rows) if isinstance(vectors, StoredVectors) else vectors[rows]
        index.add(np.arange(rows.start, rows.stop), part, threads=1)
    return bytes(index.save())


def _empty(dimension: int, *, m: int = 16, ef_construction: int = 200, ef: int = 128) -> Any:
    # A process that imports onnxruntime after usearch ends with a segmentation fault (1.32, 2.26).
    with suppress(MissingPackageError):
        onnxruntime()
    with hinted():
        from usearch.index import Index
    return Index(
        ndim=dimension, metric="ip", dtype="f16", connectivity=m, expansion_add=ef_construction,
        expansion_search=ef, enable_key_lookups=False,
    )  # fmt: skip


class GraphIndex(Graph):
    """A mapped graph.

    Args:
        data: the mapped file; see `build`.
        vectors: the vectors that it was built of, in any form.
        ef: candidates while searching; a search for more documents raises it.

    Raises:
        BundleError: the graph is damaged, or holds another number of vectors.
        MissingPackageError: usearch is not installed.
    """

    def __init__(self, data: memoryview, vectors: StoredVectors, *, ef: int = 128) -> None:
        super().__init__(vectors, ef)
        check_graph(data, *vectors.shape)
        self._index, self._data = _empty(vectors.shape[1], ef=ef), data
        try:
            self._index.view(data)
        except (RuntimeError, ValueError) as error:
            raise BundleError(f"the graph of vectors cannot be read: {error}") from error
        self._lock = Lock()  # calls of one thread each share what usearch keeps for a thread

    def nearest(self, query: NDArray[np.float32], k: int) -> Scored:
        """Return the k nearest vectors with their inner products, or as many as can be reached."""
        with self._lock:
            found = self._index.search(query, k, threads=1).keys.astype(np.uint32)
        return found, self._vectors.products_of(found, query)


def check_graph(data: memoryview, size: int, dimension: int) -> None:
    """Check every number and every link of a graph.

    Args:
        data: the whole file.
        size: the number of vectors.
        dimension: their dimension.

    Raises:
        BundleError: the graph belongs to another collection, is truncated, or has a link that leads
            out of it.
    """
    begin = 8 + size * dimension * 2  # of what comes after the vectors
    levels_at = begin + _HEAD + _GRAPH
    nodes_at = levels_at + 2 * size
    if len(data) < nodes_at or unpack_from("<2I", data) != (size, 2 * dimension):
        raise BundleError(f"the graph of vectors is truncated, or does not hold {size:,} vectors")
    name, kinds, *counts = unpack_from("<7s6x4s3Q?", data, begin)
    same = unpack_from("<Q", data, begin + _HEAD)[0] == size
    if (name, kinds, *counts) != (b"usearch", _KINDS, size, 0, dimension, False) or not same:
        raise BundleError("the graph of vectors is of another kind, or damaged")
    upper, lower, top, entry = unpack_from("<4Q", data, begin + _HEAD + 8)
    levels = np.frombuffer(data, "<i2", size, levels_at).astype(np.int64)
    fits = entry < size and levels.min() >= 0 and levels.max() == top == levels[entry]
    if not (fits or size == 0) or not 1 < upper <= lower <= 1 << 16:
        raise BundleError("the head of the graph of vectors fits no graph, so it is damaged")
    lengths = _NODE + 4 * (1 + lower) + levels * 4 * (1 + upper)
    places = nodes_at + np.concatenate([[0], np.cumsum(lengths)])
    if places[-1] != len(data):
        raise BundleError("the graph of vectors is truncated or damaged")
    for level in range(int(levels.max(initial=-1)) + 1):
        nodes = np.flatnonzero(levels == level)
        _check_nodes(data, nodes, places, levels, (int(lower), int(upper)))


def _check_nodes(
    data: memoryview,
    nodes: NDArray[np.int64],
    places: NDArray[np.int64],
    levels: NDArray[np.int64],
    most: tuple[int, int],
) -> None:
    """Check nodes of one level, their key, their level and their links; see `check_graph`.

    Args:
        data: the whole file.
        nodes: the numbers of the nodes.
        places: where each node of all begins.
        levels: the level of each node of all.
        most: the links that a list may hold on the lowest level, and above.
    """
    for begin in range(0, len(nodes), _CHECKED):
        part = nodes[begin : begin + _CHECKED]
        length = int(places[part[0] + 1] - places[part[0]]) // 2
        halves = np.frombuffer(data, "<u2")
        rows = halves[places[part][:, None] // 2 + np.arange(length)]  # (nodes, 16 bits each)
        keys = np.ascontiguousarray(rows[:, :4]).view("<u8")[:, 0]
        if not np.array_equal(keys, part) or not np.array_equal(rows[:, 4], levels[part]):
            raise BundleError("a vector of the graph has another number or level than its place")
        lists, place = np.ascontiguousarray(rows[:, _NODE // 2 :]).view("<u4"), 0
        for level in range(int(levels[part[0]]) + 1):
            capacity = most[min(level, 1)]
            counts, links = lists[:, place], lists[:, place + 1 : place + 1 + capacity]
            used = np.arange(capacity) < counts[:, None]
            found = links[used]
            if (counts > capacity).any() or (found >= len(levels)).any():
                raise BundleError("a link of the graph of vectors leads out of it")
            if (levels[found] < level).any():
                raise BundleError("a link of the graph of vectors leads to a missing level")
            place += 1 + capacity
