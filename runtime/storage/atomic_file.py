"""Write a file that has its name only when it is complete."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes that takes its name when the block ends without an error.

    Until then it has a name of its own in the same folder, so readers find the earlier file or
    none, and two writers do not mix. After an error the earlier file stays.

    Raises:
        OSError: the folder does not exist, or the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
