"""Finished parts of a long computation, kept so that an interrupted one goes on where it was."""

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Arrays = dict[str, NDArray[Any]]

# What reading a file that is not whole may raise.
_DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class KeptBlocks:
    """Arrays under a digest of all that they depend on, so that no block is taken for another's.

    Args:
        folder: where they are kept; None for nowhere.
        depends: what all of them depend on: arrays, and texts such as a model's digest.
    """

    def __init__(self, folder: Path | None = None, *depends: str | NDArray[Any]) -> None:
        self._folder, self._base = folder, _digest("", *depends)

    def block(
        self,
        what: str,
        depends: tuple[str | NDArray[Any], ...],
        types: Mapping[str, DTypeLike],
        make: Callable[[], Arrays],
    ) -> Arrays:
        """Return a block's arrays as they are kept, or else made and kept.

        Args:
            what: tells blocks apart that depend on the same.
            depends: what this block depends on, beside what all do.
            types: of the arrays, by name.
            make: makes the arrays.
        """
        if self._folder is None:
            return make()
        path = self._folder / f"{_digest(self._base, what, *depends)[:32]}.npz"
        found = _read(path, types)
        if found is None:
            found = make()
            _write(path, found)
        return found


def _digest(base: str, *parts: str | NDArray[Any]) -> str:
    found = hashlib.sha256(base.encode())
    for part in parts:
        if isinstance(part, str):
            content = part.encode("utf-8", "replace")
        else:
            content = np.ascontiguousarray(part).tobytes()
            found.update(f"{part.dtype} {part.shape}".encode())
        found.update(f"{len(content)} ".encode())
        found.update(content)
    return found.hexdigest()


def _write(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    partial.replace(path)


def _read(path: Path, types: Mapping[str, DTypeLike]) -> Arrays | None:
    """Return a finished block, None where there is none or it is not whole."""
    try:
        # A zip, whose checksums are compared. numpy leaves open what it opened and cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            found = {name: held[name] for name in types}
    except _DAMAGE:
        return None
    return found if all(found[name].dtype == types[name] for name in types) else None
