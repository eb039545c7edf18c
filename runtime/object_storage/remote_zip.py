"""A bundle's zip on object storage."""

import io
import os
from typing import IO, cast

import numpy as np

from ranklet.runtime.object_storage.block_store import BlockStore
from ranklet.runtime.object_storage.http_ranges import HTTPRanges
from ranklet.runtime.object_storage.s3_ranges import S3Ranges
from ranklet.runtime.storage.address import S3, Address
from ranklet.runtime.storage.archive import ZipArchive, zip_members
from ranklet.runtime.storage.block_array import SMALL, AbsentFile

HEAD = 1024  # bytes that are read where a file begins: the headers of the zip and of an array
FOOT = 64  # bytes that are read where it ends: the last number of an array
# Whatever their size, these are read when the bundle is opened, because each query looks words up.
AT_ONCE = ("text/forms.npy", "text/forms.offsets.npy", "text/lemma_of.npy", "text/beginning_of.npy",
           "text/counts.npy")  # fmt: skip


class RemoteZip(ZipArchive):
    """A zip of which only the blocks that are needed are read.

    Args:
        address: the address of the zip.
        cache: the folder of the block cache; None for the default.

    Raises:
        RemoteError: the object cannot be read.
        BundleError: it is no zip, or the cache cannot be used.
    """

    def __init__(self, address: Address, cache: str | os.PathLike[str] | None) -> None:
        ranges = S3Ranges if address.lower().startswith(f"{S3}:") else HTTPRanges
        self.store = BlockStore(ranges(address), cache)
        super().__init__(zip_members(str(address), cast("IO[bytes]", _Reader(self.store))))
        self._read_ahead()

    def _read_ahead(self) -> None:
        """Fetch at once what opening the bundle, and nearly every query, reads."""
        spans = []
        for name, member in self._members.items():
            at_once = name in AT_ONCE or member.file_size <= SMALL
            head = member.header_offset
            spans.append((head - FOOT, head + HEAD + (member.file_size if at_once else 0)))
        places = np.array(spans, np.int64).reshape(-1, 2).clip(0, self.store.size)
        self.store.fetch(places[:, 0], places[:, 1])

    @property
    def length(self) -> int:
        """The bytes of the zip."""
        return self.store.size

    def part(self, begin: int, end: int) -> memoryview:
        """Return some bytes of the zip."""
        self.store.fetch(np.array([begin]), np.array([end]))
        return self.store.data[begin:end]

    def content(self, name: str, begin: int, size: int) -> memoryview | AbsentFile:
        """Return the content of a member, of which nothing is read yet."""
        return AbsentFile(self.store, begin, size, name)


class _Reader(io.RawIOBase):
    """The object as a file that zipfile reads."""

    def __init__(self, store: BlockStore) -> None:
        super().__init__()
        self._store, self._at = store, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._store.size}[whence]
        if base + offset < 0:
            raise OSError("a place before the beginning")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        begin = min(self._at, self._store.size)
        end = min(begin + len(buffer), self._store.size)
        self._store.fetch(np.array([begin]), np.array([end]))
        buffer[: end - begin] = self._store.data[begin:end]
        self._at = end
        return end - begin
