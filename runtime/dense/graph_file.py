"""Check the file of an HNSW graph, because hnswlib follows any number that it reads.

The layout is the one of hnswlib 0.8, little-endian. It begins with a header of 96 bytes. Then
follow, for each vector, its links on the lowest layer, its values and its label. The rest holds,
for each vector, the size of its links on the upper layers and these links.
"""

from struct import unpack_from

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError

HEADER = 96  # bytes
_COUNT = 4  # bytes before a list of links, which hold its length (16 bits) and flags


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
