"""Interrupt calls at places where Python can: in the middle of a function, once per call.

CPython runs handlers of signals, and lets an exception of another thread arrive, only when a
function begins, when a call has returned and when a loop goes back. A call may also fail itself,
for want of memory. So an error is raised there, at the place that a seeded generator draws.
"""

import dis
import os
import random
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, TypeVar

import pytest
from tests.product_imports import PRODUCT

T = TypeVar("T")

# Whose functions are interrupted, and those of the standard library that act for them.
_OURS = tuple(map(str, PRODUCT.values()))
_THEIRS = ("contextlib.py", "functools.py", "weakref.py")

# Files that only their last reference has closed.
LEFT_OPEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Interrupted(BaseException):
    """The error of a handler of signals, which nothing in the product knows."""


ERRORS: tuple[type[BaseException], ...] = (
    Interrupted, KeyboardInterrupt, MemoryError, TimeoutError,
)  # fmt: skip
TIMES = int(os.environ.get("RANKLET_TEST_INTERRUPTIONS", "12"))  # per test


class Interruption:
    """Raises an error at the n-th place of a call where Python could; 0 only counts them.

    Attributes:
        met: how many places the call has come by.
        raised: whether the error was raised.
    """

    def __init__(self, at: int = 0, error: type[BaseException] = Interrupted) -> None:
        self._at, self._error = at, error
        self.met, self.raised = 0, False

    def call(self, work: Callable[[], T]) -> T:
        """Return the result of a call that is interrupted in this thread."""
        before = sys.gettrace()
        sys.settrace(self.enter)
        try:
            return work()
        finally:
            sys.settrace(before)

    def enter(self, frame: FrameType, event: str, _: Any) -> Any:
        """Follow a function that begins, as a function for `threading.settrace` does."""
        code = frame.f_code
        if not _traced(code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        places, last = _places(code), -1

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "opcode":
                last, now = frame.f_lasti, (last, frame.f_lasti)
                if now in places or (-1, now[1]) in places:
                    self._meet()
            return trace

        return trace

    def _meet(self) -> None:
        self.met += 1
        if self.met == self._at:
            self.raised = True
            raise self._error("interrupted by a test")


@cache
def _traced(code: CodeType) -> bool:
    name = code.co_filename
    return code.co_name != "<module>" and (name.startswith(_OURS) or name.endswith(_THEIRS))


@cache
def _places(code: CodeType) -> frozenset[tuple[int, int]]:
    """Return where an interruption may come: the instruction that ran last, or -1, and the next.

    An error that is raised before an instruction meets the handler of that one. A place is left
    out where a real one would meet another handler, that of the call which has just returned.
    """
    spans = [(each.start, each.end, each.target) for each in dis._parse_exception_table(code)]  # type: ignore[attr-defined]

    def handler(at: int) -> int | None:
        return next((target for start, end, target in spans if start <= at < end), None)

    instructions = list(dis.get_instructions(code))
    found = {(-1, each.offset) for each in instructions if each.opname == "JUMP_BACKWARD"}
    found |= {
        (each.offset, following.offset)
        for each, following in pairwise(instructions)
        if each.opname.startswith("CALL") and handler(each.offset) == handler(following.offset)
    }
    begin = next(at for at, each in enumerate(instructions) if each.opname == "RESUME")
    return frozenset({*found, (-1, instructions[begin + 1].offset)})


def interrupt(
    work: Callable[[], object], check: Callable[[], None], times: int = TIMES, seed: int = 1
) -> int:
    """Interrupt a call again and again, each time at a place that is drawn, and check thereafter.

    Args:
        work: the call.
        check: raises an error if something is not as it was before.
        times: how often.
        seed: of the generator.

    Returns:
        How many calls were interrupted. The others came by fewer places than the first one.
    """
    (counted := Interruption()).call(work)
    rng, raised = random.Random(seed), 0
    for _ in range(times):
        each = Interruption(rng.randint(1, counted.met), rng.choice(ERRORS))
        try:
            each.call(work)
        except BaseException:  # what is made of it is not the subject
            if not each.raised:
                raise
        raised += each.raised
        check()
    return raised
