"""Write a file that has its name only when it is complete."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ranklet.runtime.storage.address import writable
from ranklet.runtime.writing.full_disk import full_disk_told
from ranklet.runtime.writing.syncing import sync_file, sync_folder


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes that takes its name when the block ends without an error.

    Until then it has a name of its own in the same folder, so readers find the earlier file or
    none, and two writers do not mix. After an error the earlier file stays. When the block has
    ended, the file is on the disk. A link stays, and the file that it leads to is written.

    Raises:
        InputError: the path is an address.
        BundleError: the disk is full.
        OSError: the folder does not exist, or the file cannot be written.
    """
    path = writable(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with full_disk_told(path):
            with partial.open("xb") as file:
                yield file
                sync_file(file)
            partial.replace(path)
            sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)
