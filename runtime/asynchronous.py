"""Methods that may be awaited, for programs with an event loop."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that does the same in a thread, so that the event loop is free.

    The thread sees the caller's context variables. If the awaiting task is cancelled, the thread
    ends its work and its result is dropped, since a thread cannot be stopped.
    """

    @wraps(function)
    async def run(*args: P.args, **options: P.kwargs) -> R:
        import asyncio  # slow to import, and needed only where somebody has it already

        return await asyncio.to_thread(function, *args, **options)

    return run
