"""Cache the finished blocks of a long computation, so that it can be resumed."""

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private

Arrays = dict[str, NDArray[Any]]

# What reading an incomplete file may raise.
_DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class BlockCache:
    """Arrays under a digest of all that they depend on, so that no block is mistaken for another.

    Args:
        folder: where blocks are stored; None stores none.
        depends: what all blocks depend on: arrays, and texts such as a model's digest.
    """

    def __init__(self, folder: Path | None, *depends: str | NDArray[Any]) -> None:
        self._folder, self._base = folder, _digest("", *depends)

    def block(
        self,
        name: str,
        depends: tuple[str | NDArray[Any], ...],
        types: Mapping[str, DTypeLike],
        make: Callable[[], Arrays],
    ) -> Arrays:
        """Return a block's arrays from the cache, or make and store them.

        Args:
            name: distinguishes blocks that depend on the same.
            depends: what this block depends on in addition.
            types: dtype of each array by its name.
            make: makes the arrays.
        """
        if self._folder is None:
            return make()
        path = self._folder / f"{_digest(self._base, name, *depends)[:32]}.npz"
        arrays = _read(path, types)
        if arrays is None:
            arrays = make()
            _write(path, arrays)
        return arrays


def _digest(base: str, *parts: str | NDArray[Any]) -> str:
    digest = hashlib.sha256(base.encode())
    for part in parts:
        if isinstance(part, str):
            content = part.encode("utf-8", "replace")
        else:
            content = np.ascontiguousarray(part).tobytes()
            digest.update(f"{part.dtype} {part.shape}".encode())
        digest.update(f"{len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _write(path: Path, arrays: Arrays) -> None:
    make_private(path.parent)
    with atomic_file(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def _read(path: Path, types: Mapping[str, DTypeLike]) -> Arrays | None:
    """Return a finished block; None if there is none or it is incomplete."""
    try:
        # A zip, whose checksums are compared. numpy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in types}
    except _DAMAGE:
        return None
    return arrays if all(arrays[name].dtype == types[name] for name in types) else None
