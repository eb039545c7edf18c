"""Count what a file becomes while it becomes it, so that a few bytes cannot fill the memory."""

import io
import sys
from pathlib import Path

from ranklet.runtime.ground.errors import CollectionError

LONGEST = 1 << 25  # characters of a line, a field or a text, of which no document has as many
DENSEST = 100  # bytes or characters that a byte of a file may stand for
ALLOWED = 1 << 23  # and what any file may stand for
HELD = 1 << 28  # bytes of memory for what is kept of a file while the rest of it is read
WIDEST = 3 * LONGEST // 2  # bytes of memory of a text, whose characters may take four each
HEADINGS = 1 << 18  # of a text
PIECES = 1 << 20  # fields, values, lines or tags of a text, each of which takes memory of its own


class DenseFileError(CollectionError):
    """A file stands for so much that no more of it is read."""


def count_pieces(text: str, signs: str, what: str = "it", most: int = PIECES) -> None:
    """Count the signs that divide a text, before it is divided.

    Raises:
        CollectionError: there are more, or the text takes too much memory to be copied.
    """
    if len(text) <= most:
        return
    if sys.getsizeof(text) > WIDEST:
        raise CollectionError(f"{what} takes more than {WIDEST:,} bytes of memory; divide it")
    if (found := sum(map(text.count, signs))) > most:
        raise CollectionError(f"{what} has {found:,} parts, and {most:,} are read; divide it")


class Allowance:
    """How much a file may still become.

    Args:
        path: the file.
        unit: what is counted.
        remedy: what to do with an honest file that has more.
    """

    def __init__(
        self, path: Path, unit: str = "characters", remedy: str = "divide it into smaller files"
    ) -> None:
        self._path, self._unit, self._remedy = path, unit, remedy
        self._left = self._most = max(ALLOWED, DENSEST * path.stat().st_size)

    def take(self, count: int) -> None:
        """Count what the file became.

        Raises:
            DenseFileError: that is more than honest files stand for.
        """
        self._left -= count
        if self._left < 0:
            raise DenseFileError(
                f"{self._path} stands for more than {self._most:,} {self._unit}, {DENSEST} times "
                f"as many as it has bytes; {self._remedy}"
            )


class Text:
    """A text that is put together of pieces, and is never longer than a text may be."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, io.StringIO()
        self.size = 0  # characters

    def add(self, *pieces: str) -> None:
        """Add pieces.

        Raises:
            CollectionError: the text has more than `LONGEST` characters.
        """
        for piece in pieces:
            self.size += len(piece)
            if self.size > LONGEST:
                raise CollectionError(
                    f"{self._path} has more than {LONGEST:,} characters in one part; divide it"
                )
            self._file.write(piece)

    def __str__(self) -> str:
        return self._file.getvalue()
