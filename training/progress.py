"""Show progress on standard error: bars on a terminal, lines elsewhere.

A step shows a bar of its own on a terminal. Inside `one_bar`, one bar covers all steps.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

LINE_EVERY = 10.0  # seconds between two lines where there is no terminal


class Steps:
    """One bar over several steps, whose shares of the work were estimated.

    Args:
        weights: the label and the estimated work of each step, in any unit, in their order.
    """

    def __init__(self, weights: Sequence[tuple[str, float]]) -> None:
        self._waiting = list(weights)
        self._total = sum(weight for _, weight in weights) or 1.0
        self._done = 0.0  # work of the finished steps
        self._began = self._printed = monotonic()
        self._bar = _terminal_bar() if sys.stderr.isatty() else None

    def follow(self, items: Iterable[T], label: str, total: int | None) -> Iterator[T]:
        """Yield the items of a step and show how much of everything is done.

        A step that is not among the weights counts as no work.
        """
        if total is None and isinstance(items, Sized):
            total = len(items)
        planned = next((step for step in self._waiting if step[0] == label), None)
        if planned is not None:
            self._waiting.remove(planned)
        weight = planned[1] if planned else 0.0
        for count, item in enumerate(items):
            part = weight * count / total if total else 0.0
            self._show(f"{label} {count:,}" if total is None else label, self._done + part)
            yield item
        self._done += weight
        self._show(label, self._done)

    def close(self) -> None:
        """Remove the bar, or print how long everything took."""
        if self._bar is not None:
            self._bar.close()

    def _show(self, label: str, done: float) -> None:
        now, share = monotonic(), min(1.0, done / self._total)
        if self._bar is not None:
            self._bar.set_description_str(label, refresh=False)
            self._bar.update(share - self._bar.n)
        elif now - self._printed >= LINE_EVERY:
            self._printed = now
            spent = now - self._began
            left = f", about {_clock(spent / share - spent)} left" if share > 0 else ""
            sys.stderr.write(f"{label}: {share:.0%} after {_clock(spent)}{left}\n")
            sys.stderr.flush()


_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def one_bar(*weights: tuple[str, float]) -> Iterator[None]:
    """Show one bar for all steps inside, or lines if standard error is no terminal.

    Args:
        weights: the label and the estimated work of each step, in their order.
    """
    steps = Steps(weights)
    token = _steps.set(steps)
    try:
        yield
    finally:
        _steps.reset(token)
        steps.close()


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items; `total` is their number if they have no length."""
    from tqdm import tqdm

    steps = _steps.get()
    if steps is not None:
        yield from steps.follow(items, label, total)
        return
    yield from tqdm(items, desc=label, total=total, disable=None, leave=True, dynamic_ncols=True)


def progress_bar(label: str, total: int, done: int = 0) -> Any:
    """Return a tqdm bar for a ``with``, which is updated by hand; `done` steps are done already."""
    from tqdm import tqdm

    return tqdm(desc=label, total=total, initial=done, disable=None, dynamic_ncols=True)


def _terminal_bar() -> Any:
    from tqdm import tqdm

    layout = "{desc}: {percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left"
    return tqdm(total=1.0, dynamic_ncols=True, bar_format=layout)


def _clock(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    >>> _clock(75), _clock(4000)
    ('1:15', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
