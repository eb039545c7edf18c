"""Awaited methods do the same as the others, and leave the event loop free."""

import asyncio
import inspect
from contextvars import ContextVar
from threading import Event, get_ident

import pytest

from ranklet.runtime import Bundle, InputError
from ranklet.runtime.asynchronous import in_thread

QUERY = "knead the dough, feed the starter, patch the tyre"
PATIENCE = 60  # seconds after which a test has failed, however slow the machine


def test_awaited_rankings_are_the_same(bundle: Bundle) -> None:
    async def both() -> None:
        ranking = await bundle.rank_async(QUERY, k=3, pipeline="bm25", explain=True)
        assert ranking.hits == bundle.rank(QUERY, k=3, pipeline="bm25", explain=True).hits
        own = await bundle.rank_async(QUERY, ["patch the tyre", "knead the dough"])
        assert own.hits == bundle.rank(QUERY, ["patch the tyre", "knead the dough"]).hits
        batch = await bundle.rank_batch_async([QUERY, "sour milk"], k=2)
        assert [each.hits for each in batch] == [
            each.hits for each in bundle.rank_batch([QUERY, "sour milk"], k=2)
        ]

    asyncio.run(both())


def test_they_take_what_the_others_take() -> None:
    assert inspect.signature(Bundle.rank_async) == inspect.signature(Bundle.rank)
    assert inspect.signature(Bundle.rank_batch_async) == inspect.signature(Bundle.rank_batch)


def test_errors_arrive_where_the_answer_is_awaited(bundle: Bundle) -> None:
    with pytest.raises(InputError, match="query is empty"):
        asyncio.run(bundle.rank_async(" "))


def test_the_event_loop_is_free_and_the_context_is_kept() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    released = Event()

    def work(number: int) -> tuple[str, int, int]:
        assert released.wait(PATIENCE)  # which only the event loop can end
        return variable.get(), number, get_ident()

    async def main() -> tuple[str, int, int]:
        variable.set("kept")
        task = asyncio.create_task(in_thread(work)(7))
        await asyncio.sleep(0)
        released.set()
        return await task

    value, number, thread = asyncio.run(main())
    assert (value, number) == ("kept", 7)
    assert thread != get_ident()


def test_many_at_once_do_not_mix_up_their_answers(bundle: Bundle) -> None:
    queries = [QUERY, "sour milk", "wash the windows", "fix a flat tyre"] * 5

    async def main() -> list[object]:
        return [
            each.hits for each in await asyncio.gather(*(bundle.rank_async(q) for q in queries))
        ]

    assert asyncio.run(main()) == [bundle.rank(query).hits for query in queries]


def test_a_cancelled_task_leaves_nothing_broken(bundle: Bundle) -> None:
    begun, released, ended = Event(), Event(), Event()

    def slow(query: str) -> int:
        begun.set()
        assert released.wait(PATIENCE)
        found = len(bundle.rank(query))
        ended.set()
        return found

    async def main() -> object:
        task = asyncio.create_task(in_thread(slow)(QUERY))
        await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        during = (await bundle.rank_async(QUERY)).hits
        released.set()
        assert await asyncio.to_thread(ended.wait, PATIENCE)
        return during, (await bundle.rank_async(QUERY)).hits

    expected = bundle.rank(QUERY).hits
    assert asyncio.run(main()) == (expected, expected)
