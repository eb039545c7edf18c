"""Map the arrays of a bundle, numpy's .npy files, and check them against the bundle format."""

import math
import re
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.block_array import AbsentFile

_MAGIC = b"\x93NUMPY\x01\x00"  # version 1.0; the length of the header follows in two bytes
_MAX_HEADER = 4096  # bytes; a plain one- or two-dimensional array needs 118
# A header exactly as numpy writes it. Numpy's own reader evaluates it as a Python literal, and a
# hostile header can make that fail in many ways or succeed with a warning.
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,16})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, )*(?:[0-9]{1,18},?)?)\), \} *\n"
)


def id_type(count: int) -> type[np.uint16 | np.uint32]:
    """Return the smallest type for the ids of so many tokens.

    >>> id_type(1 << 16), id_type((1 << 16) + 1)
    (<class 'numpy.uint16'>, <class 'numpy.uint32'>)
    """
    return np.uint16 if count <= 1 << 16 else np.uint32


def map_array(
    data: memoryview | AbsentFile,
    name: str,
    dtypes: Sequence[DTypeLike],
    shape: tuple[int | None, ...],
) -> NDArray[np.generic]:
    """Return a read-only view of a .npy file's content, without copying it.

    Args:
        data: the whole file, or one that is fetched by parts, as its array is then, too.
        name: the file's name, for messages.
        dtypes: the accepted element types; never object, so nothing is unpickled.
        shape: the accepted shape; None allows any length in that dimension.

    Raises:
        BundleError: the file is not a .npy file, has another type or shape, or is truncated.
    """
    begin = len(_MAGIC) + 2 + int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 2], "little")
    head = bytes(data[: min(begin, _MAX_HEADER)])
    header = _HEADER.fullmatch(head, len(_MAGIC) + 2) if head.startswith(_MAGIC) else None
    if header is None:
        raise BundleError(
            f"{name} is not a .npy file of version 1.0 with a plain header as numpy writes it, "
            "which a bundle needs"
        )
    descr, fortran, dimensions = (part.decode("ascii", "replace") for part in header.groups())
    accepted = {np.dtype(dtype).str: np.dtype(dtype) for dtype in dtypes}
    if descr not in accepted or fortran == "True":
        order = " in Fortran order" if fortran == "True" else ""
        expected = " or ".join(accepted)
        raise BundleError(f"{name} holds {descr}{order}; the bundle format requires {expected}")
    lengths = tuple(int(length) for length in dimensions.replace(",", " ").split())
    if len(lengths) != len(shape) or any(
        want is not None and want != have for want, have in zip(shape, lengths, strict=True)
    ):
        expected = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise BundleError(f"{name} has shape {lengths}; it must be {expected}")
    available, dtype = max(0, len(data) - begin), accepted[descr]
    if available != math.prod(lengths) * dtype.itemsize:
        raise BundleError(
            f"{name} announces {math.prod(lengths)} elements of {dtype.itemsize} bytes but holds "
            f"{available} bytes, so it was truncated or changed"
        )
    if isinstance(data, AbsentFile):  # functions of numpy take either kind of array
        return cast("NDArray[np.generic]", data.array(begin, dtype, lengths))
    return np.frombuffer(data[begin:], dtype).reshape(lengths)


def rows_ascend(offsets: NDArray[np.int64], values: NDArray[np.integer]) -> bool:
    """Return whether the values of each row ascend without repetitions.

    >>> rows_ascend(np.array([0, 2, 2, 3]), np.array([3, 7, 5]))
    True
    """
    within = np.ones(len(values), np.bool_)  # False where a row begins
    within[offsets[:-1][np.diff(offsets) > 0]] = False
    return bool((np.diff(values.astype(np.int64), prepend=-1)[within] > 0).all())
