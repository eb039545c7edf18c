"""Open text files, compressed or not."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.extras import install

COMPRESSED = (".gz", ".zst")

# First bytes of files that are no text, and what to do with them.
_SIGNATURES = (
    (b"\x1f\x8b", "is compressed by gzip; add .gz to its name"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd; add .zst to its name"),
    (b"PK\x03\x04", "is a zip or Excel file; unpack it, or save the sheet as CSV UTF-8"),
    (b"PAR1", "is a Parquet file; pass --format parquet"),
    (b"SQLite format 3\0", "is an SQLite database; export its table as CSV"),
    (b"%PDF-", "is a PDF; convert it to text"),
)
# Byte order marks, the longer before their beginnings.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
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


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    r"""Open a text file; bytes that cannot be decoded become lone surrogates.

    Lines keep their ends, because a quoted field of a table may contain ``\r\n``.

    Raises:
        CollectionError: the file cannot be opened, is no text, or its compressed data are damaged.
        InputError: the package for .zst is missing.
    """
    # A byte order mark is no part of the text. Only utf-8-sig skips it.
    is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        with _binary(path) as file:
            _check_text(path, file.peek(16), is_utf8)
            name = "utf-8-sig" if is_utf8 else encoding
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


def _check_text(path: Path, begin: bytes, is_utf8: bool) -> None:
    for signature, what in _SIGNATURES:
        if begin.startswith(signature):
            raise CollectionError(f"{path} {what}")
    mark = next((name for mark, name in _MARKS if begin.startswith(mark)), "")
    if mark and is_utf8:
        raise CollectionError(
            f"{path} begins with the byte order mark of {mark}; pass --encoding {mark}"
        )


def _binary(path: Path) -> Any:
    """Open a file for reading bytes, with a method ``peek``."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    if path.suffix.lower() == ".zst":
        return io.BufferedReader(_Zstandard(path))
    return path.open("rb")


class _Zstandard(io.RawIOBase):
    """The decompressed bytes of a file of one or more frames.

    The package zstandard would end silently after the first frame, and where a file is truncated.
    """

    def __init__(self, path: Path) -> None:
        name = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
        try:
            self._library = import_module(name)
        except ImportError:
            raise InputError(
                f"{path} needs a package that is not installed; run: {install('zst')}"
            ) from None
        self._file = path.open("rb")
        self._frame = self._new_frame()
        self._begun = False  # whether the frame has got bytes
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._frame.eof:
                rest, self._frame, self._begun = self._frame.unused_data, self._new_frame(), False
            else:
                rest = b""
            data = rest or self._file.read(1 << 16)
            if not data:
                if self._begun:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._begun = True
            try:
                self._ready = self._frame.decompress(data)
            except self._library.ZstdError as error:
                raise zlib.error(str(error)) from None
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _new_frame(self) -> Any:
        if sys.version_info >= (3, 14):
            return self._library.ZstdDecompressor()
        return self._library.ZstdDecompressor().decompressobj()
