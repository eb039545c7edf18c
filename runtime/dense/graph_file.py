"""The file of an HNSW graph, checked before hnswlib reads it: hnswlib follows any number it finds.

Layout, little-endian, as hnswlib 0.8 saves it: a header of 96 bytes; for each vector its links on
the lowest layer, its numbers and its label; then for each vector the size of its links on the upper
layers, and these.
"""

from struct import unpack_from

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError

HEADER = 96  # bytes
_COUNT = 4  # bytes before a list of links: how many there are (16 bits), and flags


def check_graph(data: memoryview, size: int, dimension: int) -> None:
    """Check every offset and every link of a graph.

    Args:
        data: the whole file.
        size: vectors that it must hold.
        dimension: of the vectors, float32.

    Raises:
        BundleError: the graph is of another collection, cut short, or leads out of itself.
    """
    if len(data) < HEADER:
        raise BundleError(f"the HNSW index has {len(data)} bytes: it is cut short")
    offset, most, count, step, label_at, vector_at = unpack_from("<6Q", data, 0)
    top, entry = unpack_from("<iI", data, 48)
    upper, lower, _ = unpack_from("<3Q", data, 56)
    if count != size:
        raise BundleError(f"the HNSW index holds {count} vectors, the collection {size}")
    links = _COUNT + 4 * lower
    expected = (0, links, links + 4 * dimension, links + 4 * dimension + 8)
    if (offset, vector_at, label_at, step) != expected or most < count or not 1 < upper <= lower:
        raise BundleError("the header of the HNSW index fits no graph: it is damaged")
    end = HEADER + count * step
    if len(data) < end or not 0 <= entry < count or not 0 <= top < 64:
        raise BundleError("the HNSW index is cut short or damaged")
    rows = np.frombuffer(data, np.uint8, count * step, HEADER).reshape(count, step)
    _check_links(rows[:, :links], count, "lowest")
    labels = np.ascontiguousarray(rows[:, label_at:]).view(np.uint64)[:, 0]
    if not np.array_equal(np.sort(labels), np.arange(count)):
        raise BundleError("the labels of the HNSW index are not the documents' numbers")
    _check_upper(data, end, count, _COUNT + 4 * upper, (top, entry))


def _check_links(lists: NDArray[np.uint8], count: int, layer: str) -> None:
    """Check lists of links, (lists, 4 + 4 · most) uint8: a count, flags, and numbers."""
    numbers = np.ascontiguousarray(lists).view(np.uint32)  # (lists, 1 + most)
    held = (numbers[:, 0] & 0xFFFF).astype(np.int64)
    used = np.arange(numbers.shape[1] - 1) < held[:, None]
    if (held >= numbers.shape[1]).any() or (used & (numbers[:, 1:] >= count)).any():
        raise BundleError(f"a link on the {layer} layer of the HNSW index leads out of it")


def _check_upper(data: memoryview, at: int, count: int, step: int, start: tuple[int, int]) -> None:
    """Check the links above the lowest layer; a link leads only where that layer exists."""
    levels = np.zeros(count, np.int64)
    lists = []  # (layer, its list) of all vectors that have one
    for vector in range(count):
        if at + 4 > len(data):
            raise BundleError("the upper layers of the HNSW index are cut short")
        (size,) = unpack_from("<I", data, at)
        at += 4
        if not size:
            continue
        if size % step or at + size > len(data):
            raise BundleError("the upper layers of the HNSW index are damaged")
        levels[vector] = size // step
        found = np.frombuffer(data, np.uint8, size, at).reshape(-1, step)
        lists += list(enumerate(found, 1))
        at += size
    top, entry = start
    if at != len(data) or levels.max(initial=0) != top or levels[entry] != top:
        raise BundleError("the upper layers of the HNSW index do not fit its header")
    for layer in range(1, top + 1):
        held = np.array([row for at_layer, row in lists if at_layer == layer])
        _check_links(held, count, f"{layer}.")
        numbers = held.view(np.uint32)
        used = np.arange(numbers.shape[1] - 1) < (numbers[:, :1] & 0xFFFF)
        if (levels[numbers[:, 1:][used]] < layer).any():
            raise BundleError("a link of the HNSW index leads to a layer that is not there")
