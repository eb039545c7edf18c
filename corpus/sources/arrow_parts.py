"""Divide batches of Arrow by what they become as objects of Python.

Arrow stores a value once although many rows have it: by a dictionary, a run, or a view. Python has
it once per row, so a small file may fill the memory.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

PART = 1 << 25  # bytes that become objects of Python at once
_OBJECT = 56  # bytes of a small object of Python, and of a reference to it


def in_parts(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches in parts that are not too large as objects of Python, or are one row."""
    for batch in batches:
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            if (half := part.num_rows // 2) and python_bytes(part) > PART:
                waiting += (part.slice(half), part.slice(0, half))
            elif part.num_rows:
                yield part


def python_bytes(batch: Any) -> int:
    """Return about how many bytes the rows of a batch have as objects of Python."""
    return sum(map(_bytes_of, batch.columns))


def _bytes_of(array: Any) -> int:
    objects, name = len(array) * _OBJECT, str(array.type)
    if hasattr(array, "storage"):  # of an extension type
        return _bytes_of(array.storage)
    if hasattr(array, "indices"):  # of a dictionary
        return objects + _chosen_bytes(array)
    if hasattr(array, "run_ends"):
        runs = array.values.slice(array.find_physical_offset(), array.find_physical_length())
        return objects + len(array) * _bytes_of(runs)  # at most
    if name.startswith(("list_view", "large_list_view")):
        average = _bytes_of(array.values) / max(1, len(array.values))
        return objects + int(average * sum(array.sizes.to_pylist()))
    if name in ("string_view", "binary_view"):  # each begins with the length of its text
        views = np.frombuffer(array.buffers()[1], np.int32).reshape(-1, 4)
        return objects + int(views[array.offset :][: len(array), 0].sum())
    inner = sum(map(_bytes_of, _inner(array, name)))
    return objects + inner if inner else max(objects, array.nbytes)


def _chosen_bytes(array: Any) -> int:
    """Return the bytes of the values of a dictionary that the indices name."""
    import pyarrow.compute as pc

    try:
        lengths = pc.binary_length(array.dictionary)
    except NotImplementedError:  # they are no texts
        return len(array) * _bytes_of(array.dictionary)  # at most
    return pc.sum(lengths.take(array.indices)).as_py() or 0


def _inner(array: Any, name: str) -> list[Any]:
    """Return the arrays in an array of lists, maps or objects; none of another."""
    if name.startswith(("struct<", "fixed_size_list<")):
        inner = array.flatten()
        return inner if isinstance(inner, list) else [inner]
    if not len(array) or not name.startswith(("list<", "large_list<", "map<")):
        return []
    begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    both = [array.keys, array.items] if name.startswith("map<") else [array.values]
    return [each.slice(begin, end - begin) for each in both]
