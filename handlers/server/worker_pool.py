"""Threads that rank, behind a bounded queue, so that the event loop stays free.

numpy and onnxruntime release the interpreter's lock while they compute, but Python code does not,
so more threads than processors gain nothing. If the queue had no bound, all callers would wait
longer than they are willing to. Once it is full, further callers get 503 at once.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from ranklet.handlers.api.errors import RequestError

T = TypeVar("T")


class ClientGone(Exception):  # noqa: N818  # no error: there is nobody to report it to
    """The caller hung up before the answer was ready."""


class WorkerPool:
    """Threads behind a queue in which at most `queue` calls wait."""

    def __init__(self, threads: int, queue: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="ranklet")
        self._most, self._held, self._lock = threads + queue, 0, Lock()

    @property
    def held(self) -> int:
        """The number of calls that run or wait."""
        return self._held

    async def run(self, work: Callable[[], T], seconds: float, gone: Coroutine[Any, Any, Any]) -> T:
        """Run a call in a thread and return its result, after at most `seconds` of wait and work.

        The coroutine `gone` ends when the caller hangs up.

        Raises:
            RequestError: 503: the queue is full; 504: the time is up.
            ClientGone: the caller hung up.
        """
        watch = asyncio.ensure_future(gone)
        try:
            result = asyncio.wrap_future(self._submit(work))
        except BaseException:
            watch.cancel()
            raise
        try:
            both = {result, watch}
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            if watch.done():
                raise ClientGone
            raise RequestError(504, f"no answer within {seconds:g} seconds; ask for less")
        finally:
            watch.cancel()
            result.cancel()  # a waiting call never starts; a running one ends and is forgotten

    def close(self) -> None:
        """Let running calls end and start no others."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _submit(self, work: Callable[[], T]) -> "Future[T]":
        with self._lock:
            if self._held >= self._most:
                raise RequestError(503, "too many requests are waiting; try again in a second")
            self._held += 1
        future = self._executor.submit(work)
        future.add_done_callback(self._release)
        return future

    def _release(self, _: "Future[Any]") -> None:
        with self._lock:
            self._held -= 1
