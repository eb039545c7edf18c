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

COMPRESSED = (".gz", ".zst")


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
        CollectionError: the file cannot be opened, or its compressed data are damaged.
        InputError: the package for .zst is missing.
    """
    # A byte order mark is no part of the text. Only utf-8-sig skips it.
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        with (
            _binary(path) as file,
            io.TextIOWrapper(file, name, errors="surrogateescape", newline="") as text,
        ):
            yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CollectionError(
            f"{path}: damaged or truncated compressed data ({error}); fetch the file again"
        ) from None
    except UnicodeError as error:  # such as an odd number of bytes in UTF-16
        raise CollectionError(
            f"{path} is not {encoding} ({error}); pass --encoding with the right name"
        ) from None
    except OSError as error:
        raise CollectionError(f"{path}: cannot be read ({error.strerror or error})") from None


def _binary(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    if path.suffix.lower() == ".zst":
        return _zstandard(path)
    return path.open("rb")


def _zstandard(path: Path) -> Any:
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd").open(path)
    try:
        return io.BufferedReader(import_module("zstandard").open(path, "rb"))
    except ImportError:
        raise InputError(
            f"{path} needs a package that is not installed; run: pip install zstandard"
        ) from None
