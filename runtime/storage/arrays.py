"""Arrays of a bundle: numpy's .npy files, mapped and checked against what the format demands."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.errors import BundleError

_MAGIC = b"\x93NUMPY\x01\x00"  # version 1.0; two bytes with the length of the header follow
_MAX_HEADER = 4096  # bytes; a plain one- or two-dimensional array needs 118
# Exactly as numpy writes it. Numpy's own reader evaluates the header as a Python literal, and a
# hostile one makes it fail in many ways, or succeed with a warning.
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,16})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, )*(?:[0-9]{1,18},?)?)\), \} *\n"
)


def map_array(
    data: memoryview, name: str, dtypes: Sequence[DTypeLike], shape: tuple[int | None, ...]
) -> NDArray[np.generic]:
    """Return a read-only view of a .npy file's content, without copying it.

    Args:
        data: the whole file.
        name: for messages.
        dtypes: the element types that are accepted; never object, so nothing is unpickled.
        shape: the only shape that is accepted; None allows any length there.

    Raises:
        BundleError: not a .npy file, or other than what the format demands, or cut short.
    """
    begin = len(_MAGIC) + 2 + int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 2], "little")
    head = bytes(data[: min(begin, _MAX_HEADER)])
    header = _HEADER.fullmatch(head, len(_MAGIC) + 2) if head.startswith(_MAGIC) else None
    if header is None:
        raise BundleError(
            f"{name} is not a .npy file that a bundle may hold: version 1.0 and a plain header, as "
            "numpy writes it"
        )
    descr, fortran, dimensions = (part.decode("ascii", "replace") for part in header.groups())
    wanted = {np.dtype(each).str: np.dtype(each) for each in dtypes}
    if descr not in wanted or fortran == "True":
        order = " in Fortran order" if fortran == "True" else ""
        asked = " or ".join(wanted)
        raise BundleError(f"{name} holds {descr}{order}; the bundle format demands {asked}")
    found = tuple(int(each) for each in dimensions.replace(",", " ").split())
    if len(found) != len(shape) or any(
        want is not None and want != have for want, have in zip(shape, found, strict=True)
    ):
        asked = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise BundleError(f"{name} has shape {found}; it must be {asked}")
    body, dtype = data[begin:], wanted[descr]
    if len(body) != math.prod(found) * dtype.itemsize:
        raise BundleError(
            f"{name} announces {math.prod(found)} elements of {dtype.itemsize} bytes and holds "
            f"{len(body)} bytes: it was cut short or altered"
        )
    return np.frombuffer(body, dtype).reshape(found)
