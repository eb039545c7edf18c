"""Open text files, compressed or not, and read them in pieces of bounded length."""

import gzip
import io
import sys
import zlib
from codecs import lookup
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, Any

from ranklet.corpus.collections.bounds import LONGEST, Allowance
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.ground.extras import install

COMPRESSED = (".gz", ".zst")
_PIECE = 1 << 11  # bytes of .zst that are decompressed at once, because 4 may stand for 128 KiB

# First bytes of files that are no text, and what to do with them.
_SIGNATURES = (
    (b"PK\x03\x04", "is a zip or Office file; unpack it, or name it .docx, .pptx, .xlsx or .epub"),
    (b"PAR1", "is a Parquet file; pass --format parquet"),
    (b"SQLite format 3\0", "is an SQLite database; give sqlite:///FILE with ?table=NAME behind it"),
    (b"%PDF-", "is a PDF; name it .pdf"),
)
# Byte order marks, the longer before their beginnings.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"),
)  # fmt: skip


def format_suffix(path: Path) -> str:
    """Return the suffix that says what a file holds, in lower case.

    >>> format_suffix(Path("a/News.CSV.gz"))
    '.csv'
    """
    name = path.name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix


@dataclass
class Position:
    """How much of something was read: bytes of files as they are stored, or records.

    Attributes:
        total: how much there is; 0 if that is not known.
        done: how much of it was read.
    """

    total: int
    done: int = 0

    def share(self) -> float | None:
        """Return what was read of 1; None if that is not known."""
        return min(1.0, self.done / self.total) if self.total else None


class _Counted(io.FileIO):
    """A file whose bytes are counted as they are read."""

    def __init__(self, path: Path, position: Position) -> None:
        super().__init__(path)
        self._position = position

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self._position.done += count
        return count


@contextmanager
def open_text(path: Path, encoding: str, position: Position | None = None) -> Iterator[IO[str]]:
    r"""Open a text file; bytes that cannot be decoded become lone surrogates.

    Lines keep their ends, because a quoted field of a table may contain ``\r\n``.

    Args:
        path: the file.
        encoding: the text's encoding.
        position: counts the bytes that are read.

    Raises:
        CollectionError: the file cannot be opened, is no text, or its compressed data are damaged
            or stand for too much.
        InputError: the package for .zst is missing.
    """
    try:
        stored = io.BufferedReader(_Counted(path, position or Position(0)), 1 << 16)
        with stored, _unpack(path, stored) as file:
            name = _without_mark(path, file.peek(16), encoding)
            with io.TextIOWrapper(file, name, errors="surrogateescape", newline="") as text:
                yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CollectionError(
            f"{path} has damaged or truncated compressed data ({error}); fetch the file again"
        ) from None
    except UnicodeError as error:  # such as an odd number of bytes in UTF-16
        raise CollectionError(
            f"{path} is not {encoding} ({error}); pass --encoding with the right name"
        ) from None
    except OSError as error:
        raise CollectionError(f"{path} cannot be read ({error.strerror or error})") from None


def lines(path: Path, file: IO[str]) -> Iterator[str]:
    """Yield the lines of a file with their ends.

    Raises:
        CollectionError: a line has more than `LONGEST` characters.
    """
    for number in count(1):
        line = file.readline(LONGEST + 1)
        if not line:
            return
        if len(line) > LONGEST:
            raise CollectionError(
                f"{path}:{number} has more than {LONGEST:,} characters in one line; divide the "
                "file into shorter documents, or pass the right --format"
            )
        yield line


def content(path: Path, file: IO[str]) -> str:
    """Return all that is left in a file, whose path is for messages.

    Raises:
        CollectionError: it has more than `LONGEST` characters.
    """
    text = file.read(LONGEST + 1)
    if len(text) > LONGEST:
        raise CollectionError(f"{path} has more than {LONGEST:,} characters; divide it into parts")
    return text


def _without_mark(path: Path, begin: bytes, encoding: str) -> str:
    """Return the name of an encoding in which a byte order mark is no part of the text.

    Raises:
        CollectionError: the first bytes are those of another encoding, or of no text.
    """
    for signature, what in _SIGNATURES:
        if begin.startswith(signature):
            raise CollectionError(f"{path} {what}")
    mark = next((name for mark, name in _MARKS if begin.startswith(mark)), "")
    if not mark or mark == "utf-8-sig":
        return mark or encoding
    if lookup(encoding).name.startswith(mark):  # utf-16-le would keep the mark
        return mark
    raise CollectionError(
        f"{path} begins with the byte order mark of {mark}; pass --encoding {mark}"
    )


def _unpack(path: Path, file: "io.BufferedReader[Any]") -> Any:
    """Return a file whose bytes are not compressed, with a method ``peek``.

    Without an ending the first bytes tell, because the standard input has no name.
    """
    begin, suffix = file.peek(4), path.suffix.lower()
    if suffix == ".gz" or begin.startswith(b"\x1f\x8b"):
        return io.BufferedReader(_Unpacked(path, gzip.GzipFile(fileobj=file)))
    if suffix == ".zst" or begin.startswith(b"\x28\xb5\x2f\xfd"):
        return io.BufferedReader(_Unpacked(path, _Zstandard(path, file)))
    return file


class _Unpacked(io.RawIOBase):
    """The bytes that a compressed file stands for, which are counted unless it is a pipe."""

    def __init__(self, path: Path, file: Any) -> None:
        self._file = file
        self._allowance = Allowance(path, "bytes", "unpack it") if path.is_file() else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._file.readinto(buffer)
        if self._allowance:
            self._allowance.take(count)
        return count


class _Zstandard(io.RawIOBase):
    """The decompressed bytes of a file of one or more frames.

    The package zstandard would end silently after the first frame, and where a file is truncated.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        name = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
        try:
            self._library = import_module(name)
        except ImportError:
            raise InputError(
                f"{path} needs a package that is not installed; run: {install('zst')}"
            ) from None
        self._file = file
        self._frame = self._new_frame()
        self._begun = False  # whether the frame has got bytes
        self._ready = memoryview(b"")  # of which a part is taken without copying the rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._frame.eof:
                rest, self._frame, self._begun = self._frame.unused_data, self._new_frame(), False
            else:
                rest = b""
            data = rest or self._file.read(_PIECE)
            if not data:
                if self._begun:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._begun = True
            try:
                self._ready = memoryview(self._frame.decompress(data))
            except self._library.ZstdError as error:
                raise zlib.error(str(error)) from None
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _new_frame(self) -> Any:
        if sys.version_info >= (3, 14):
            return self._library.ZstdDecompressor()
        return self._library.ZstdDecompressor().decompressobj()
