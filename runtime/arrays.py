"""Arrays of a bundle: numpy's .npy files, mapped and checked against what the format demands."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.errors import BundleError

_MAX_HEADER = 4096  # bytes; a plain one- or two-dimensional array needs 128


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
    wanted = [np.dtype(each) for each in dtypes]
    head = io.BytesIO(data[: _MAX_HEADER + 16])
    try:
        version = npy.read_magic(head)
        if version != (1, 0):
            raise ValueError(f"version {version} of the .npy format; only 1.0 is read")
        found_shape, fortran, found = npy.read_array_header_1_0(head, _MAX_HEADER)
    except (ValueError, TypeError, SyntaxError) as error:
        raise BundleError(f"{name} is not a .npy file that a bundle may hold: {error}") from error
    if found not in wanted or fortran:
        order = " in Fortran order" if fortran else ""
        asked = " or ".join(map(str, wanted))
        raise BundleError(f"{name} holds {found}{order}; the bundle format demands {asked}")
    if len(found_shape) != len(shape) or any(
        want is not None and want != have for want, have in zip(shape, found_shape, strict=True)
    ):
        asked = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise BundleError(f"{name} has shape {found_shape}; it must be {asked}")
    count = int(np.prod(found_shape, dtype=object))
    body = data[head.tell() :]
    if min(found_shape, default=0) < 0 or len(body) != count * found.itemsize:
        raise BundleError(
            f"{name} announces {count} elements of {found.itemsize} bytes and holds {len(body)} "
            "bytes: it was cut short or altered"
        )
    return np.frombuffer(body, found).reshape(found_shape)
