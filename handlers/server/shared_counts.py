"""Numbers that all processes of a server count together: metrics, bytes of bodies, requests by key.

Each process adds to a row of its own, which nobody else writes, so no lock can be left behind by a
process that ends in the middle. Everybody reads all rows. The successor of a process that has ended
goes on with its row, so counters never fall.
"""

import json
from collections.abc import KeysView
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SERIES = 4096  # metrics of a process; routes, statuses and stages make half as many at most
_VALUES = "values"

Name = tuple[str, ...]  # of a number


class SharedCounts:
    """The numbers of one process, and those of all.

    Args:
        most: how many there are of one process.
        folder: where they are, see `make`; None if this process is alone.
        row: the number of this process.
        rows: how many processes there are.
    """

    def __init__(
        self, most: int = SERIES, folder: Path | None = None, row: int = 0, rows: int = 1
    ) -> None:
        self._folder, self._row = folder, row
        self._values: NDArray[np.float64] = np.zeros((rows, most))
        if folder is not None:
            values = np.memmap(folder / _VALUES, np.float64, "r+", shape=(rows, most))
            self._values = values.view(np.ndarray)  # whose numbers are read much faster
        # A view of memory is added to in half the time of an array.
        self._own: memoryview[float] = self._values[row].data.cast("B").cast("d")
        names = [] if folder is None else _names(folder, row)
        self._places = {name: at for at, name in enumerate(names)}

    @staticmethod
    def make(most: int, folder: Path, rows: int) -> None:
        """Make the file of all rows, before any process begins."""
        np.memmap(folder / _VALUES, np.float64, "w+", shape=(rows, most)).flush()

    def add(self, name: Name, amount: float) -> None:
        """Add to a number of this process; all begin at 0."""
        self._own[self._place(name)] += amount

    def set(self, name: Name, value: float) -> None:
        """Set a number of this process."""
        self._own[self._place(name)] = value

    def get(self, name: Name) -> float:
        """Return a number of this process."""
        return self._own[self._place(name)]

    @property
    def names(self) -> KeysView[Name]:
        """The names of this process's numbers."""
        return self._places.keys()

    def of_all(self, name: Name) -> list[float]:
        """Return a number of each process. All must have named it in one order."""
        return list(self._values[:, self._place(name)].tolist())

    def by_name(self) -> list[dict[Name, float]]:
        """Return all numbers of each process."""
        if self._folder is None:
            return [dict(zip(self._places, self._own.tolist(), strict=False))]
        return [
            dict(zip(_names(self._folder, row), values.tolist(), strict=False))
            for row, values in enumerate(self._values)
        ]

    def _place(self, name: Name) -> int:
        place = self._places.get(name)
        if place is None:
            place = len(self._places)
            if place >= len(self._own):
                raise IndexError("there is no room for another number")
            if self._folder is not None:
                with _file(self._folder, self._row).open("a", encoding="utf-8") as file:
                    file.write(f"\n{json.dumps(name)}\n")
            self._places[name] = place  # once everybody can know it
        return place


def _file(folder: Path, row: int) -> Path:
    return folder / f"{row}.names"


def _names(folder: Path, row: int) -> list[Name]:
    """Return the names of a row, in the order of its numbers."""
    try:
        lines = _file(folder, row).read_text("utf-8").splitlines(keepends=True)
    except FileNotFoundError:  # it has counted nothing
        return []
    return [tuple(json.loads(line)) for line in lines if line.endswith("]\n")]
