"""One version of an object, whose blocks are fetched when they are read and kept in the cache."""

import os
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.object_storage.block_file import BlockFile
from ranklet.runtime.object_storage.cache_folder import cache_folder, limit, make_room
from ranklet.runtime.object_storage.transport import CONNECTIONS, ReplacedError, Transport

TAIL = 1 << 17  # bytes that are read first, from the end, where a zip has its directory
PART = 1 << 21  # bytes of a range at most, so that large files arrive by several connections
GAP = 2  # blocks between two missing ones that are read with them, which saves a range
_ROOM = 1 << 28  # bytes that arrive before the size of the cache is looked at again
_ABSENT, _CACHED, _ARRIVED = 0, 1, 2  # the states of a block


class BlockStore:
    """Reads one version of an object; shared by all threads.

    Args:
        transport: reads its ranges.
        cache: the folder of the cache; None for the default.

    Attributes:
        size: the object's size in bytes.
        replaced: whether another version was found in its place.
        requests: how many ranges were read.
        bytes_read: how many bytes these had.

    Raises:
        RemoteError: the object cannot be read.
        BundleError: the cache cannot be used, or the object is empty.
    """

    def __init__(self, transport: Transport, cache: str | os.PathLike[str] | None = None) -> None:
        self._transport = transport
        weakref.finalize(self, transport.close)
        self._folder: Path = cache_folder(cache)
        self._most = limit(self._folder)
        tail = transport.last(TAIL)
        if not tail.size:
            raise BundleError(f"{transport.address} is empty, so it is not a bundle")
        self.size, self._etag, self.replaced = tail.size, tail.etag, False
        self.requests, self.bytes_read = 1, len(tail.data)
        self._file = BlockFile(self._folder, transport.address.unsigned, tail.etag, tail.size)
        self.data, self._block = self._file.data, self._file.block
        self._flags = bytearray(self._file.count)
        self._states = np.frombuffer(self._flags, np.uint8)  # the same bytes, for many at once
        self._flights: dict[int, Lock] = {}  # by block; held while a thread is fetching it
        self._lock = Lock()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        first = -(-tail.begin // self._block)
        if first < self._file.count:
            self._keep(first, tail.data[first * self._block - tail.begin :])
        make_room(self._folder, self._most)

    def holds(self, begin: int, end: int) -> bool:
        """Return whether a part is there."""
        block = self._block
        return self._flags.find(_ABSENT, begin // block, -(-end // block)) < 0

    def fetch(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Fetch the bytes from each of `begins` to before each of `ends`, all at once.

        Raises:
            RemoteError: they cannot be read, or the object was replaced.
            BundleError: a part lies past the end, or the cache cannot be used.
        """
        filled = ends > begins
        begins, ends = begins[filled], ends[filled]
        if not len(begins):
            return
        if begins.min() < 0 or ends.max() > self.size:
            raise BundleError(f"{self._transport.address} ends before a part of it")
        firsts, lasts = begins // self._block, (ends - 1) // self._block
        borders, states = np.concatenate([firsts, lasts]), self._states
        missing = [borders[states[borders] == _ABSENT]]
        is_long = lasts - firsts > 1  # most spans are of one or two blocks
        for first, last in zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True):
            missing.append(first + np.flatnonzero(states[first : last + 1] == _ABSENT))
        blocks = distinct(np.concatenate(missing))
        while len(blocks := blocks[states[blocks] == _ABSENT]):
            self._fetch_unclaimed(blocks.tolist())

    def _fetch_unclaimed(self, blocks: list[int]) -> None:
        """Fetch blocks that no other thread is fetching, and wait for the others."""
        flight = Lock()  # held until the blocks are there, or nobody fetches them any more
        with flight:
            with self._lock:
                flights = {each: self._flights.get(each, flight) for each in blocks}
                others = {each for each in flights.values() if each is not flight and each.locked()}
                own = [
                    each
                    for each, other in flights.items()
                    if other not in others and not self._states[each]
                ]
                self._flights.update(dict.fromkeys(own, flight))
            self._load(own)
            with self._lock:
                for each in own:
                    del self._flights[each]
        for other in others:
            with other:
                pass

    def _load(self, blocks: list[int]) -> None:
        """Take blocks from the cache, and read those that it does not have."""
        there = self._file.all_valid(blocks)
        self._states[there] = _CACHED
        known = set(there)
        spans = list(self._runs(each for each in blocks if each not in known))
        if len(spans) == 1:  # no thread is needed
            self._read(spans[0])
        elif spans:
            tasks = [self._threads().submit(self._read, span) for span in spans]
            try:
                for task in tasks:
                    task.result()
            finally:
                for task in tasks:  # after a failure the other ranges are useless
                    task.cancel()

    def _runs(self, blocks: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the first block of each range to read, and the block after its last."""
        most = max(1, PART // self._block)
        begin = end = -1
        for each in blocks:
            if begin >= 0 and each - end <= GAP and each + 1 - begin <= most:
                end = each + 1
                continue
            if begin >= 0:
                yield begin, end
            begin, end = each, each + 1
        if begin >= 0:
            yield begin, end

    def _read(self, span: tuple[int, int]) -> None:
        first, after = span
        begin, end = first * self._block, min(after * self._block, self.size)
        try:
            data = self._transport.range(begin, end, self._etag)
        except ReplacedError:
            self.replaced = True
            raise
        with self._lock:
            before = self.bytes_read // _ROOM
            self.requests, self.bytes_read = self.requests + 1, self.bytes_read + len(data)
            grown = self.bytes_read // _ROOM > before
        if grown:
            make_room(self._folder, self._most)
        self._keep(first, data)

    def _keep(self, first: int, data: bytes) -> None:
        """Write blocks that arrived to the cache; from then on they count as present."""
        self._file.write(first, data)
        self._states[first : first + -(-len(data) // self._block)] = _ARRIVED

    def _threads(self) -> ThreadPoolExecutor:
        """Return the threads of this process. A forked process needs new ones."""
        with self._lock:
            if self._pool is None or self._pool[0] != os.getpid():
                self._pool = (os.getpid(), ThreadPoolExecutor(CONNECTIONS, "ranklet-blocks"))
            return self._pool[1]

    def arrived(self, begin: int, end: int) -> bool:
        """Return whether a part came over the network since the object was opened."""
        states = self._states[begin // self._block : -(-end // self._block)]
        return bool((states == _ARRIVED).any())

    def forget(self, begin: int, end: int) -> None:
        """Drop a part, because it is wrong."""
        blocks = np.arange(begin // self._block, -(-end // self._block))
        self._states[blocks] = _ABSENT
        self._file.forget(blocks)

    def disconnect(self) -> None:
        """Close the connections; the next range opens others."""
        self._transport.close()

    def is_current(self, *, look: bool) -> bool:
        """Return whether this version is still the one at the address.

        Args:
            look: whether one byte is read to find out.

        Raises:
            RemoteError: that cannot be found out.
        """
        if look and not self.replaced:
            try:
                self._transport.range(0, 1, self._etag, attempts=1)
            except ReplacedError:
                self.replaced = True
        return not self.replaced
