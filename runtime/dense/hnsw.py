"""Search approximately in sub-linear time by HNSW (Malkov & Yashunin 2018), through hnswlib."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.graph_file import check_graph
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.extras import install
from ranklet.runtime.onnx.session import threads
from ranklet.runtime.pipeline.topk import Scored, top_k


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

    Args:
        data: the mapped file of the index.
        size: number of vectors.
        dimension: dimension of the vectors.
        ef: candidates while searching; a search for more documents raises it.

    Raises:
        BundleError: the index cannot be read or holds another number of vectors.
    """

    def __init__(self, data: memoryview, size: int, dimension: int, *, ef: int = 128) -> None:
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

    def search(self, query: NDArray[np.float32], k: int) -> Scored:
        """Return approximately the k documents with the largest inner product, best first.

        If fewer than k can be reached, hnswlib returns none at all. Then k is halved until it
        succeeds.
        """
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
        scores = (1 - distances[0]).astype(np.float32)  # the distance is 1 − inner product
        numbers = numbers[0].astype(np.uint32)
        best = top_k(scores, k, ties=numbers)
        return numbers[best], scores[best]
