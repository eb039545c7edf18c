"""Where the processor's work is done: some threads and a bounded queue, so the server stays awake.

numpy and onnxruntime leave the interpreter's lock while they compute; what is in Python does not,
so more threads than processors gain nothing. A queue without bound would make every caller wait
longer than it is willing to: past the bound they are told at once to come back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from ranklet.handlers.api.errors import RequestError

T = TypeVar("T")


class ClientGone(Exception):  # noqa: N818  # no error: nobody is left to tell
    """The caller hung up before the answer was there."""


class WorkerPool:
    """Some threads, and a bounded queue before them.

    Args:
        threads: that work.
        queue: calls that may wait.
    """

    def __init__(self, threads: int, queue: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="ranklet")
        self._most, self._held, self._lock = threads + queue, 0, Lock()

    @property
    def held(self) -> int:
        """Return how many calls run or wait."""
        return self._held

    async def run(self, work: Callable[[], T], seconds: float, gone: Coroutine[Any, Any, Any]) -> T:
        """Run a call in a thread and wait for what it returns.

        Args:
            work: the call.
            seconds: to wait at most, in the queue and at work.
            gone: ends when the caller has hung up.

        Raises:
            RequestError: 503: the queue is full; 504: time is up.
            ClientGone: the caller hung up.
        """
        watching = asyncio.ensure_future(gone)
        try:
            running = asyncio.wrap_future(self._submit(work))
        except BaseException:
            watching.cancel()
            raise
        try:
            both = {running, watching}
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            if watching.done():
                raise ClientGone
            raise RequestError(504, f"no answer within {seconds:g} seconds; ask for less")
        finally:
            watching.cancel()
            running.cancel()  # what waits never begins; what runs goes on, unheard

    def close(self) -> None:
        """Let what runs end; nothing new begins."""
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
