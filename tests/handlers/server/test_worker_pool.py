"""The pool without a server: what runs, waits, is refused, and is given up."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from threading import Event
from time import sleep
from typing import Any

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server.worker_pool import ClientGone, WorkerPool
from ranklet.runtime.call.deadline import Deadline

FOREVER = 3600.0  # seconds


@pytest.fixture
def gate() -> Iterator[Event]:
    """Hold work until it is set; the end of a test sets it, too."""
    event = Event()
    yield event
    event.set()


async def stays() -> None:
    """A caller who does not hang up."""
    await asyncio.sleep(FOREVER)


async def leaves() -> None:
    """A caller who hangs up at once."""


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 120))


def test_a_call_returns_what_its_work_returns_and_raises_what_it_raises() -> None:
    async def test() -> None:
        pool = WorkerPool(threads=1, queue=0)
        assert await pool.run(lambda: 7, FOREVER, stays) == 7
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0, FOREVER, stays)
        await until(lambda: pool.held == 0)
        pool.close()

    run(test())


def test_whoever_has_a_result_finds_room_for_the_next_call() -> None:
    class Late(set[Any]):
        def discard(self, call: Any) -> None:
            sleep(0.05)
            super().discard(call)

    async def test() -> None:
        pool = WorkerPool(threads=1, queue=0)
        pool._held = Late()
        for _ in range(3):
            assert await pool.run(lambda: 7, FOREVER, stays) == 7
        pool.close()

    run(test())


def test_past_the_queue_a_call_is_refused_at_once(gate: Event) -> None:
    async def test() -> None:
        pool = WorkerPool(threads=1, queue=1)
        held = [asyncio.ensure_future(pool.run(gate.wait, FOREVER, stays)) for _ in range(2)]
        await until(lambda: pool.held == 2)  # one runs, one waits
        with pytest.raises(RequestError, match="too many requests") as caught:
            await pool.run(gate.wait, FOREVER, stays)
        assert caught.value.status == 503
        gate.set()
        assert await asyncio.gather(*held) == [True, True]
        pool.close()

    run(test())


def test_a_call_that_takes_too_long_is_given_up(gate: Event) -> None:
    async def test() -> None:
        pool = WorkerPool(threads=1, queue=0)
        with pytest.raises(RequestError, match=r"no answer within 0\.01 seconds") as caught:
            await pool.run(gate.wait, 0.01, stays)
        assert caught.value.status == 504
        assert pool.held == 1  # the thread cannot be stopped
        gate.set()
        await until(lambda: pool.held == 0)
        pool.close()

    run(test())


def test_what_has_begun_is_waited_for_if_its_caller_must_know_and_the_others_never_begin(
    gate: Event,
) -> None:
    begun = []

    async def test() -> None:
        pool, started = WorkerPool(threads=1, queue=5, finishes=True), Event()

        def work() -> bool:
            started.set()
            return gate.wait()

        held = asyncio.ensure_future(pool.run(work, 0.01, stays))
        await asyncio.sleep(0)
        assert started.wait(60)  # no time passes for the loop until it has begun
        with pytest.raises(RequestError, match="nothing was written") as caught:
            await pool.run(lambda: begun.append("never"), 0.01, stays)
        assert caught.value.status == 503
        waiting = asyncio.ensure_future(pool.run(lambda: begun.append("never"), FOREVER, stays))
        await until(lambda: pool.held == 2)
        pool.refuse(RequestError(503, "the end"))
        for each in (waiting, pool.run(lambda: begun.append("never"), FOREVER, stays)):
            with pytest.raises(RequestError, match="the end"):
                await each
        assert not held.done()
        gate.set()
        assert await held
        pool.close()

    run(test())
    assert begun == []


def test_what_waits_when_the_pool_is_closed_never_starts(gate: Event) -> None:
    begun = []

    async def test() -> None:
        pool, started = WorkerPool(threads=1, queue=5), Event()

        def work() -> bool:
            started.set()
            return gate.wait()

        held = asyncio.ensure_future(pool.run(work, FOREVER, stays))
        await until(started.is_set)
        waiting = asyncio.ensure_future(pool.run(lambda: begun.append("never"), FOREVER, stays))
        await until(lambda: pool.held == 2)
        pool.close()
        gate.set()
        assert await held
        await until(lambda: pool.held == 1)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert pool.held == 0

    run(test())
    assert begun == []


def test_a_caller_who_hangs_up_leaves_the_queue(gate: Event) -> None:
    begun = []

    async def test() -> None:
        pool = WorkerPool(threads=1, queue=5)
        held = asyncio.ensure_future(pool.run(gate.wait, FOREVER, stays))
        await until(lambda: pool.held == 1)
        with pytest.raises(ClientGone):
            await pool.run(lambda: begun.append("never"), FOREVER, leaves)
        await until(lambda: pool.held == 1)
        gate.set()
        assert await held
        pool.close()

    run(test())
    assert begun == []


def test_a_call_whose_caller_hangs_up_begins_no_more_work() -> None:
    ended = Event()

    def work() -> None:
        deadline = Deadline()
        while not deadline.passed:
            sleep(0.001)
        ended.set()

    async def test() -> None:
        pool = WorkerPool(threads=1, queue=0)
        with pytest.raises(ClientGone):
            await pool.run(work, FOREVER, leaves)
        await until(ended.is_set)
        await until(lambda: pool.held == 0)
        assert not await pool.run(lambda: Deadline().passed, FOREVER, stays)
        pool.close()

    run(test())
    assert not Deadline().passed
