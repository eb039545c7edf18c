"""Search approximately in sub-linear time by HNSW (Malkov & Yashunin 2018), through hnswlib."""

import os
import tempfile
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, checked_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.exact import GATHERED, ExactIndex
from ranklet.runtime.dense.graph_file import check_graph
from ranklet.runtime.dense.stored import StoredVectors
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.extras import install
from ranklet.runtime.onnx.session import threads

_VISITED = 8  # taking one more vector from the graph takes as long as comparing 8 exactly
_SPARE = 2  # the last of what is taken from the graph are found less surely


def _hnswlib() -> Any:
    try:
        import hnswlib
    except ModuleNotFoundError as error:
        raise InputError(
            "HNSW needs the package hnswlib, which needs a compiler. Run "
            f"`{install('hnsw')}`, or use exact search"
        ) from error
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
    """
    index = _hnswlib().Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), M=m, ef_construction=ef_construction, random_seed=0)
    index.add_items(vectors, np.arange(len(vectors)), num_threads=1)
    index.save_index(str(path))


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
        check_graph(data, size, dimension)
        index = _hnswlib().Index(space="ip", dim=dimension)
        # hnswlib reads only from a path, but the mapped file may lie inside a zip.
        handle, name = tempfile.mkstemp(suffix=".hnsw")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            index.load_index(name, max_elements=size)
        except RuntimeError as error:
            raise BundleError(f"the HNSW index cannot be read: {error}") from error
        finally:
            Path(name).unlink(missing_ok=True)
        index.set_num_threads(threads())
        index.set_ef(ef)
        self._index, self._size, self._ef = index, size, ef
        self._exact = ExactIndex(vectors)

    def search(self, query: NDArray[np.float32], k: int, allowed: Mask | None = None) -> Scored:
        """Return approximately the k documents with the largest inner product, best first.

        If fewer than k can be reached, hnswlib returns none at all. Then k is halved until it
        succeeds. With a mask, k documents are returned if it allows so many.

        Args:
            query: (dimension,) float32.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """
        mask = checked_mask(allowed, self._size)
        if mask is not None:
            return self._search_allowed(query, k, mask)
        k = min(k, self._size)
        if k <= 0:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        if k > self._ef:  # never lowered again, because another thread may be searching
            self._ef = k
            self._index.set_ef(k)
        while True:
            try:
                numbers, distances = self._index.knn_query(query[None, :], k=k)
                break
            except RuntimeError:
                k //= 2
                if not k:
                    raise
        return _best(numbers[0], distances[0], k)

    def _search_allowed(self, query: NDArray[np.float32], k: int, mask: Mask) -> Scored:
        """Return the best of the allowed documents; see `search`.

        With a broad mask more than k are taken from the graph, and twice as many each time until k
        of them are allowed. Once that would take longer than comparing all allowed vectors, these
        are compared. hnswlib could call a Python function per vector, but that is slow.
        """
        count = int(np.count_nonzero(mask))
        k = min(k, count)
        if k <= 0:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        taken = max(self._ef, ceil(_SPARE * k * self._size / count))
        while taken * _VISITED < min(count, self._size / GATHERED):
            try:  # hnswlib considers as many candidates as it returns, if these are more than ef
                numbers, distances = self._index.knn_query(query[None, :], k=taken)
            except RuntimeError:  # fewer can be reached
                break
            kept = mask[numbers[0]]
            if np.count_nonzero(kept) >= k:
                return _best(numbers[0][kept], distances[0][kept], k)
            taken *= 2
        return self._exact.search(query, k, mask)


def _best(numbers: NDArray[np.uint64], distances: NDArray[np.float32], k: int) -> Scored:
    """Return the k nearest of some vectors, best first, ties by number."""
    scores = (1 - distances).astype(np.float32)  # the distance is 1 − inner product
    found = numbers.astype(np.uint32)
    best = top_k(scores, k, ties=found)
    return found[best], scores[best]
