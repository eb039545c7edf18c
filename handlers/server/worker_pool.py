"""Threads that rank, behind a bounded queue, so that the event loop stays free.

numpy and onnxruntime release the interpreter's lock while they compute, but Python code does not,
so more threads than processors gain nothing. If the queue had no bound, all callers would wait
longer than they are willing to. Once it is full, further callers get 503 at once.

The threads are no `ThreadPoolExecutor`, because its futures, each with a lock and a copy for the
event loop, are a noticeable part of what a lexical answer adds to its ranking.
"""

import asyncio
import atexit
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from ranklet.handlers.api.errors import BUSY, RequestError
from ranklet.runtime.call.deadline import caller_gone

T = TypeVar("T")

# Most calls end sooner. Only for the others somebody looks whether the caller has hung up.
UNWATCHED_SECONDS = 0.05


class ClientGone(Exception):  # noqa: N818  # no error: there is nobody to report it to
    """The caller hung up before the answer was ready."""


class _Call(Generic[T]):
    """A call that waits for a thread, and the future that its caller waits for.

    Attributes:
        work: the call's function; None once a thread has begun it or nobody waits for it any more.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self.work: Callable[[], T] | None = work
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self._loop.create_future()

    def run(self, work: Callable[[], T], release: Callable[["_Call[T]"], None]) -> None:
        """Do the work in this thread, and hand its result or error to the event loop.

        Args:
            work: the call's function.
            release: called in between, so that whoever has the result finds room for a call.
        """
        finish: Callable[[Any], None]
        outcome: Any
        try:
            caller_gone.set(self.result.done)
            try:
                finish, outcome = self.result.set_result, work()
            except BaseException as error:
                finish, outcome = self.result.set_exception, error
            caller_gone.set(bool)
        finally:
            release(self)
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(self._finish, finish, outcome)

    def _finish(self, finish: Callable[[Any], None], outcome: Any) -> None:
        if not self.result.done():
            finish(outcome)


class WorkerPool:
    """Threads behind a queue in which at most `queue` calls wait.

    Args:
        threads: how many there are.
        queue: how many calls may wait.
        finishes: whether a call that has begun is waited for until it ends, however long it takes,
            because its caller must know what became of it. Then 503 says that one has not begun.
    """

    def __init__(self, threads: int, queue: int, *, finishes: bool = False) -> None:
        self._most, self._finishes, self._lock = threads + queue, finishes, Lock()
        self._refusal: RequestError | None = None
        self._held = set[_Call[Any]]()  # those that run or wait
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._work, name=f"ranklet-{at}", daemon=True) for at in range(threads)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self._join)

    @property
    def held(self) -> int:
        """The number of calls that run or wait."""
        return len(self._held)

    async def run(
        self, work: Callable[[], T], seconds: float, gone: Callable[[], Coroutine[Any, Any, None]]
    ) -> T:
        """Run a call in a thread and return its result, after at most `seconds` of wait and work.

        The coroutine that `gone` returns ends when the caller hangs up.

        Raises:
            RequestError: 503: the queue is full, or calls are refused; 504: the time is up.
            ClientGone: the caller hung up.
        """
        call = _Call(work)

        def watch() -> None:
            watching = asyncio.ensure_future(self._watch(call, seconds, gone))
            call.result.add_done_callback(lambda _: watching.cancel())

        timer = asyncio.get_running_loop().call_later(min(UNWATCHED_SECONDS, seconds), watch)
        try:
            self._submit(call)
            return await call.result
        finally:
            timer.cancel()
            if self._take(call):  # given up: it never starts; a running one begins no more work
                self._held.discard(call)

    def refuse(self, error: RequestError) -> None:
        """Raise an error for all calls that wait, and for all to come; running ones go on."""
        self._refusal = error
        for call in [*self._held]:
            if self._take(call):
                self._held.discard(call)
                call.result.set_exception(error)

    def close(self) -> None:
        """Let running calls end, and start no others."""
        with suppress(Empty):
            while True:
                self._calls.get_nowait()
        for _ in self._threads:
            self._calls.put(None)

    def _join(self) -> None:
        # A thread in the middle of a native library must not meet the end of the interpreter.
        self.close()
        for thread in self._threads:
            thread.join()

    def _submit(self, call: _Call[Any]) -> None:
        with self._lock:
            if self._refusal:
                raise self._refusal
            if len(self._held) >= self._most:
                raise RequestError(503, "too many requests are waiting; try again in a second")
            self._held.add(call)
        self._calls.put(call)

    def _work(self) -> None:
        """Run calls, one after another; an error of a call goes to its caller."""
        call: _Call[Any] | None = None
        while True:
            try:
                call = self._calls.get()
                if call is None:
                    return
                if work := self._take(call):
                    call.run(work, self._held.discard)
            except BaseException:  # no memory to hand a result over: other calls still get theirs
                if call is not None:
                    self._held.discard(call)
            call = work = None  # else an answer would stay in memory while the thread waits

    def _take(self, call: _Call[T]) -> Callable[[], T] | None:
        """Return the work of a call that waits, which does not wait any more then."""
        with self._lock:
            work, call.work = call.work, None
        return work

    async def _watch(
        self, call: _Call[Any], seconds: float, gone: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """End the wait for a result when its time is up or the caller hangs up."""
        error: Exception = ClientGone()
        try:
            async with asyncio.timeout(seconds - UNWATCHED_SECONDS):
                await gone()
        except TimeoutError:
            if not self._finishes:
                error = RequestError(504, f"no answer within {seconds:g} seconds; ask for less")
            elif self._take(call):
                self._held.discard(call)
                error = RequestError(503, BUSY)
            else:
                await gone()
        if not call.result.done():
            call.result.set_exception(error)
