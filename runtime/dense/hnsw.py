"""Search approximately in sub-linear time by HNSW (Malkov & Yashunin 2018), through hnswlib.

The file of a graph is checked, because hnswlib follows any number that it reads. The layout is the
one of hnswlib 0.8, little-endian. It begins with a header of 96 bytes. Then follow, for each
vector, its links on the lowest layer, its values and its label. The rest holds, for each vector,
the size of its links on the upper layers and these links.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from math import ceil
from pathlib import Path
from struct import unpack_from
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, check_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.stored import GATHERED, ExactIndex, StoredVectors
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.onnx.session import threads

HEADER = 96  # bytes
_VISITED = 8  # taking one more vector from the graph takes as long as comparing 8 exactly
_SPARE = 2  # the last of what is taken from the graph are found less surely
_COUNT = 4  # bytes before a list of links, which hold its length (16 bits) and flags


def _hnswlib() -> Any:
    with hint_packages():
        import hnswlib
    return hnswlib


def build(
    vectors: NDArray[np.float32], path: Path, *, m: int = 16, ef_construction: int = 200
) -> None:
    """Build an inner-product index over (documents, dimension) float32 vectors and save it.

    One thread adds the vectors, because with several threads the index differs from run to run.

    Args:
        vectors: the vectors.
        path: the file to write.
        m: links per vector on each layer.
        ef_construction: candidates while building.

    Raises:
        OSError: the disk is full.
    """
    index = _hnswlib().Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), M=m, ef_construction=ef_construction, random_seed=0)
    index.add_items(vectors, np.arange(len(vectors)), num_threads=1)
    index.save_index(str(path))
    if path.stat().st_size != index.index_file_size():  # it does not look whether it could write
        raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))


class HNSWIndex:
    """An index in memory, because hnswlib cannot map one.

    It has vectors of its own, in 32 bits.

    Args:
        data: the mapped file of the index.
        vectors: the vectors themselves, in any form, which are read only where few of them are
            allowed. Scores are the same if the index was built of these, as `floats` gives them.
        ef: candidates while searching; a search for more documents raises it.

    Raises:
        BundleError: the index cannot be read or holds another number of vectors.
    """

    def __init__(self, data: memoryview, vectors: StoredVectors, *, ef: int = 128) -> None:
        size, dimension = vectors.shape
        self._vectors, self._size, self._ef = vectors, size, ef
        self._exact = ExactIndex(vectors)
        check_graph(data, size, dimension)
        index = _hnswlib().Index(space="ip", dim=dimension)
        try:
            with _named(data) as name:
                index.load_index(name, max_elements=size)
        except (OSError, RuntimeError) as error:
            raise BundleError(
                f"the HNSW index cannot be read: {error}; hnswlib needs a copy of it in the "
                "temporary folder"
            ) from error
        index.set_num_threads(threads())
        index.set_ef(ef)
        self._index = index

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
        mask = check_mask(allowed, self._size)
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

    def nearest(self, query: NDArray[np.float32], k: int) -> Scored:
        """Return the k nearest vectors with their inner products.

        If fewer than k can be reached, hnswlib returns none at all. Then k is halved until it
        succeeds.
        """
        k = min(k, self._size)
        if k > self._ef:  # never lowered again, because another thread may be searching
            self._ef = k
            self._index.set_ef(k)
        while k:
            try:
                numbers, distances = self._index.knn_query(query[None, :], k=k)
            except RuntimeError:
                k //= 2
            else:  # the distance is 1 − inner product
                return numbers[0].astype(np.uint32), (1 - distances[0]).astype(np.float32)
        return np.empty(0, np.uint32), np.empty(0, np.float32)


@contextmanager
def _named(data: memoryview) -> Iterator[str]:
    """Yield the path of a copy, because hnswlib reads no bytes, and these may lie inside a zip."""
    try:
        handle, name = tempfile.mkstemp(suffix=".hnsw")
    except OSError:  # nothing can be written
        if not hasattr(os, "memfd_create"):
            raise
        handle = os.memfd_create("hnsw")
        name = ""
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            yield name or f"/proc/self/fd/{handle}"
    finally:
        if name:
            Path(name).unlink(missing_ok=True)


def _best(numbers: NDArray[np.uint32], scores: NDArray[np.float32], k: int) -> Scored:
    """Return the k best of some vectors, best first, ties by number."""
    best = top_k(scores, k, ties=numbers)
    return numbers[best], scores[best]


def check_graph(data: memoryview, size: int, dimension: int) -> None:
    """Check every offset and every link of a graph.

    Args:
        data: the whole file.
        size: expected number of vectors.
        dimension: dimension of the vectors, which are float32.

    Raises:
        BundleError: the graph belongs to another collection, is truncated, or has a link that leads
            out of it.
    """
    if len(data) < HEADER:
        raise BundleError(f"the HNSW index is truncated, it has only {len(data)} bytes")
    offset, most, count, step, label_at, vector_at = unpack_from("<6Q", data, 0)
    top, entry = unpack_from("<iI", data, 48)
    upper, lower, _ = unpack_from("<3Q", data, 56)
    if count != size:
        raise BundleError(f"the HNSW index holds {count} vectors, the collection {size}")
    links = _COUNT + 4 * lower
    expected = (0, links, links + 4 * dimension, links + 4 * dimension + 8)
    if (offset, vector_at, label_at, step) != expected or most < count or not 1 < upper <= lower:
        raise BundleError("the header of the HNSW index fits no graph, so the index is damaged")
    end = HEADER + count * step
    if len(data) < end or not 0 <= entry < count or not 0 <= top < 64:
        raise BundleError("the HNSW index is truncated or damaged")
    rows = np.frombuffer(data, np.uint8, count * step, HEADER).reshape(count, step)
    _check_links(rows[:, :links], count, "lowest")
    labels = np.ascontiguousarray(rows[:, label_at:]).view(np.uint64)[:, 0]
    if not np.array_equal(np.sort(labels), np.arange(count)):
        raise BundleError("the labels of the HNSW index are not the documents' numbers")
    _check_upper(data, end, count, _COUNT + 4 * upper, (top, entry))


def _check_links(lists: NDArray[np.uint8], count: int, layer: str) -> None:
    """Check lists of links, (lists, 4 + 4 · most) uint8, each a count, flags and numbers."""
    numbers = np.ascontiguousarray(lists).view(np.uint32)  # (lists, 1 + most)
    lengths = (numbers[:, 0] & 0xFFFF).astype(np.int64)
    used = np.arange(numbers.shape[1] - 1) < lengths[:, None]
    if (lengths >= numbers.shape[1]).any() or (used & (numbers[:, 1:] >= count)).any():
        raise BundleError(f"a link on the {layer} layer of the HNSW index leads out of it")


def _check_upper(
    data: memoryview, place: int, count: int, step: int, start: tuple[int, int]
) -> None:
    """Check the links above the lowest layer and that their targets exist on that layer."""
    levels = np.zeros(count, np.int64)
    lists = []  # (layer, list of links) of all vectors that have one
    for vector in range(count):
        if place + 4 > len(data):
            raise BundleError("the upper layers of the HNSW index are truncated")
        (size,) = unpack_from("<I", data, place)
        place += 4
        if not size:
            continue
        if size % step or place + size > len(data):
            raise BundleError("the upper layers of the HNSW index are damaged")
        levels[vector] = size // step
        own_lists = np.frombuffer(data, np.uint8, size, place).reshape(-1, step)
        lists += list(enumerate(own_lists, 1))
        place += size
    top, entry = start
    if place != len(data) or levels.max(initial=0) != top or levels[entry] != top:
        raise BundleError("the upper layers of the HNSW index do not fit its header")
    for layer in range(1, top + 1):
        layer_lists = np.array([row for at_layer, row in lists if at_layer == layer])
        _check_links(layer_lists, count, f"{layer}.")
        numbers = layer_lists.view(np.uint32)
        used = np.arange(numbers.shape[1] - 1) < (numbers[:, :1] & 0xFFFF)
        if (levels[numbers[:, 1:][used]] < layer).any():
            raise BundleError("a link of the HNSW index leads to a layer that does not exist")
