"""The blocks of one version of an object, in a sparse file of the cache.

The file has a header, one digest per block, and the object's bytes at their places. A digest is
written after its block. Whoever uses a block that another process wrote, or that was there before,
compares it with its digest. So a block that was written only in part is never used, and several
processes may use and fill one file. They write the same bytes.
"""

import hashlib
import mmap
import os
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.object_storage.cache_folder import SUFFIX, locks, with_room

BLOCK = 1 << 15  # bytes of a block
DIGEST = 16  # bytes of a digest; a block without one, which is all zeros, is not there
_PAGE = 4096
_HEADER = Struct("<8sQQ32s")  # magic, bytes of a block, bytes of the object, digest of its version
_MAGIC = b"ranklet1"


class BlockFile:
    """The sparse file of one version of an object; shared by all threads.

    Args:
        folder: the cache's folder.
        place: the address without a signature.
        etag: the version.
        size: the object's size in bytes.

    Attributes:
        data: the object, where blocks that are not there hold anything.

    Raises:
        BundleError: the file cannot be made.
    """

    def __init__(self, folder: Path, place: str, etag: str, size: int) -> None:
        self.block, self.size = BLOCK, size
        self.count = -(-size // self.block)
        version = hashlib.sha256(f"{place}\n{etag}\n{size}\n{self.block}".encode())
        self.path = folder / f"{version.hexdigest()[:32]}{SUFFIX}"
        digests = -(-self.count * DIGEST // _PAGE) * _PAGE
        self._begin = _PAGE + digests  # of the object's bytes
        header = _HEADER.pack(_MAGIC, self.block, size, version.digest())
        try:
            self._descriptor = with_room(folder, _PAGE, lambda: self._open(header))
            weakref.finalize(self, os.close, self._descriptor)
            whole = mmap.mmap(self._descriptor, self._begin + size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._failure(error) from error
        view = memoryview(whole)
        self.data = view[self._begin :]
        self._digests = np.frombuffer(view, np.uint8, self.count * DIGEST, _PAGE).reshape(
            -1, DIGEST
        )

    def _open(self, header: bytes) -> int:
        """Open the file, or make it; a file of another form is replaced."""
        fcntl = locks()
        for _ in range(10):  # another process may remove it just then
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Held for as long as the file is mapped, because the mapping has a descriptor, too.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            there = os.pread(descriptor, len(header), 0)
            if there in (b"", bytes(len(header))):
                os.ftruncate(descriptor, max(os.fstat(descriptor).st_size, self._begin + self.size))
                os.pwrite(descriptor, header, 0)
            elif there != header or os.fstat(descriptor).st_size != self._begin + self.size:
                # Never truncated, because another process may have mapped it.
                self.path.unlink(missing_ok=True)
                os.close(descriptor)
                continue
            with suppress(FileNotFoundError):
                if os.path.samestat(self.path.stat(), os.fstat(descriptor)):
                    os.utime(descriptor, ns=(time.time_ns(),) * 2)
                    return descriptor
            os.close(descriptor)
        raise OSError("another process removes the file again and again")

    def all_valid(self, numbers: Sequence[int]) -> list[int]:
        """Return the blocks that are there and match their digests."""
        stored = self._digests[list(numbers)]
        there = np.flatnonzero(stored.any(axis=1)).tolist()
        return [numbers[at] for at in there if stored[at].tobytes() == self._actual(numbers[at])]

    def _actual(self, number: int) -> bytes:
        begin = number * self.block
        return _digest(self.data[begin : begin + self.block], number)

    def write(self, first: int, data: bytes) -> None:
        """Write consecutive blocks.

        Args:
            first: the number of the first one.
            data: their bytes.

        Raises:
            BundleError: they cannot be written.
        """
        view = memoryview(data)
        numbers = range(first, first + -(-len(data) // self.block))
        parts = (view[at * self.block :][: self.block] for at in range(len(numbers)))
        digests = b"".join(map(_digest, parts, numbers))

        def put() -> None:
            self._pwrite(view, self._begin + first * self.block)
            self._pwrite(memoryview(digests), _PAGE + first * DIGEST)

        try:
            with_room(self.path.parent, len(data) + len(digests), put)
        except OSError as error:
            raise self._failure(error) from error

    def forget(self, numbers: NDArray[np.int64]) -> None:
        """Remove the digests of some blocks, so that no process uses them."""
        for number in numbers.tolist():
            self._pwrite(memoryview(bytes(DIGEST)), _PAGE + number * DIGEST)

    def _pwrite(self, data: memoryview, at: int) -> None:
        while len(data):
            written = os.pwrite(self._descriptor, data, at)
            data, at = data[written:], at + written

    def _failure(self, error: OSError) -> BundleError:
        return BundleError(
            f"the cache {str(self.path)!r} cannot be used: {error.strerror or error}; make room, "
            f"or set {Variable.CACHE} to another folder"
        )


def _digest(data: memoryview, number: int) -> bytes:
    # The digest covers the block's number, so a misplaced block is invalid.
    person = number.to_bytes(16, "little")
    return hashlib.blake2b(data, digest_size=DIGEST, person=person).digest()
