"""Show progress on standard error: bars on a terminal, a line every few seconds elsewhere.

A step shows a bar of its own on a terminal. Inside `one_bar`, one bar covers all steps. Where there
is no terminal, a line is written when something has moved, or a minute has passed.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from math import exp
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TextIO, TypeVar

from ranklet.runtime.answers.console import bare, printable

T = TypeVar("T")

LINE_EVERY = 5.0  # seconds between two lines where there is no terminal
SILENT = 9.0  # the same while no item of a step ends
STILL = 60.0  # the same while nothing moves
DRAWN_EVERY = 0.1  # seconds between two drawings of a bar with the same label
EVALUATING = "evaluating"  # label of an evaluation during a training
IMPORTING = "importing PyTorch"
ESTIMATED_FROM = 0.05  # share of the work from which the remaining time is estimated


class Measured(Iterator[T]):
    """Items whose number is unknown, although it is known how much of them was read.

    Args:
        items: the items.
        share: returns the share that was read, from 0 to 1; None if it is not known.
    """

    def __init__(self, items: Iterator[T], share: Callable[[], float | None]) -> None:
        self._items, self.share = items, share

    def __next__(self) -> T:
        return next(self._items)


class Steps:
    """One bar over several steps, whose shares of the work were estimated.

    Args:
        weights: the label and the estimated work of each step, in any unit, in their order.
        clock: returns seconds.
        done: share of the work that was done earlier.
    """

    def __init__(
        self,
        weights: Sequence[tuple[str, float]],
        clock: Callable[[], float] = monotonic,
        done: float = 0.0,
    ) -> None:
        self._waiting = list(weights)
        self._finished = 0.0  # work of the finished steps
        # Work of the open steps, what returns the share of it that is done, and their labels.
        self._running: list[tuple[float, Callable[[], float], str]] = []
        self._clock, self._lock = clock, Lock()
        self._began = self._shown_at = clock()
        self._first = done
        self._shown = ("", done)  # label and share
        self._count = self._line = ""  # what else was shown, and the line without its times
        self._bar = _bar(total=1.0, leave=False, bar_format="{desc} |{bar}|")

    def expect(self, label: str, work: float) -> None:
        """Change the estimated work of each waiting step of this label."""
        self._waiting = [(name, work if name == label else old) for name, old in self._waiting]

    def follow(self, items: Iterable[T], label: str, total: int | None) -> Iterator[T]:
        """Yield the items of a step and show how much of everything is done.

        A step may contain others. One that is not among the weights counts as no work, and its
        items are counted.
        """
        if total is None and isinstance(items, Sized):
            total = len(items)
        planned = next((step for step in self._waiting if step[0] == label), None)
        if planned is not None:
            self._waiting.remove(planned)
        work, place = planned[1] if planned else 0.0, len(self._running)
        of_all = "" if total is None else f" of {total:,}"
        counted = total is None or planned is None
        count = 0

        def done() -> float:
            share = items.share() if isinstance(items, Measured) else None
            return share if share is not None else count / total if total else 0.0

        self._running.append((work, done, label))
        try:
            for count, item in enumerate(items):
                self._show(label, f" ({count:,}{of_all})" if counted and count else "")
                yield item
        finally:
            del self._running[place:]
            self._finished += work
        self._show(label)

    def reach(self, label: str, share: float, note: str) -> None:
        """Show that a share of everything is done, where the caller counts it.

        Args:
            label: what is done.
            share: the share of the whole work that is done, from 0 to 1.
            note: what else to show, such as the number of the step.
        """
        self._waiting, self._finished, self._running = [], share, [(1 - share, lambda: 0.0, label)]
        _check()
        self._show(label, f", {note}")

    @contextmanager
    def by_time(self) -> Iterator[None]:
        """Also show the running step while one of its items takes long, from a thread."""
        ended = Event()

        def show() -> None:
            while not ended.wait(1.0):
                if self._running:
                    label = self._running[-1][2]
                    self._show(label, self._count if label == self._shown[0] else "", ended=False)

        thread = Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    @property
    def _work(self) -> float:
        """All the work that is known; 0 if nobody knows how long it takes."""
        running = sum(work for work, _, _ in self._running)
        return self._finished + running + sum(work for _, work in self._waiting)

    @property
    def _share(self) -> float:
        """The share of the work that is done; it never falls, even if more work turns up."""
        total = self._work
        done = self._finished + sum(work * done() for work, done, _ in self._running)
        return max(self._shown[1], done / total if total else 0.0)

    def _show(self, label: str, count: str = "", *, ended: bool = True) -> None:
        """Show a step if it is time to; a line waits longer if no item of the step has ended."""
        waited, after = self._clock() - self._shown_at, LINE_EVERY if ended else SILENT
        if self._bar is not None:
            if label == self._shown[0] and waited < DRAWN_EVERY:
                return
        elif waited < after or (waited < STILL and self._head(label, count) == self._line):
            return
        with self._lock:
            self._draw(label, count)

    def _head(self, label: str, count: str) -> str:
        return f"{printable(label)}{count}" + (f": {self._share:.0%}" if self._work else "")

    def _draw(self, label: str, count: str) -> None:
        now, share = self._clock(), self._share
        self._count, self._line = count, self._head(label, count)
        self._shown = (label, share)
        self._shown_at = now
        spent = now - self._began
        line = f"{self._line} after {duration(spent)}"
        if share - self._first >= ESTIMATED_FROM:
            left = spent / (share - self._first) * (1 - share)
            line += f", about {duration(left)} left"
        if self._bar is None:
            _write(line, bare(sys.stderr))
        else:
            self._bar.n = share
            self._bar.set_description_str(line)


_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)
_watch: ContextVar[Callable[[], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched(check: Callable[[], None]) -> Iterator[None]:
    """Call a function before every piece of the work inside, which it may end by an error."""
    outer = _watch.get()

    def both() -> None:
        if outer is not None:
            outer()
        check()

    token = _watch.set(both)
    try:
        yield
    finally:
        _watch.reset(token)


def _check() -> None:
    if (check := _watch.get()) is not None:
        check()


@contextmanager
def one_bar(*weights: tuple[str, float], done: float = 0.0) -> Iterator[Steps]:
    """Show one bar for all steps inside, or lines if standard error is no terminal.

    Args:
        weights: the label and the estimated work of each step, in their order.
        done: share of the work that was done earlier.
    """
    steps = Steps(weights, done=done)
    token = _steps.set(steps)
    try:
        with steps.by_time():
            yield steps
    finally:
        _steps.reset(token)
        steps.close()


def expect(label: str, work: float) -> None:
    """Change the estimated work of waiting steps, once it is known; see `one_bar`."""
    steps = _steps.get()
    if steps is not None:
        steps.expect(label, work)


def say(text: str) -> None:
    """Print a line on standard output, above a bar if there is one."""
    _above_bars(text, bare(sys.stdout))


def warn(text: str) -> None:
    """Print a warning on standard error, above a bar if there is one."""
    _above_bars(f"warning: {text}", bare(sys.stderr))


def progress(items: Iterable[T], label: str, total: int | None = None) -> Generator[T]:
    """Yield the items; `total` is their number if they have no length."""
    for item in _shown(items, label, total):
        _check()
        yield item


def _shown(items: Iterable[T], label: str, total: int | None) -> Iterator[T]:
    steps, drawn = _steps.get(), None
    if total is None and isinstance(items, Sized):
        total = len(items)
    if steps is None:
        drawn = _bar(iterable=items, desc=printable(label), total=total, leave=True)
    if drawn is not None:
        yield from drawn
        return
    measured = isinstance(items, Measured) and items.share() is not None
    if steps is not None:
        yield from steps.follow(items, label, total)
        return
    own = Steps([(label, 1.0)] if total is not None or measured else [])
    with own.by_time():
        yield from own.follow(items, label, total)


@contextmanager
def step(label: str, seconds: float) -> Iterator[None]:
    """Show a step that is one piece of work, whose share is told by its time.

    Args:
        label: what is done.
        seconds: how long it probably takes.
    """
    began = monotonic()
    work = Measured(iter((None,)), lambda: 1 - exp((began - monotonic()) / seconds))
    with closing(progress(work, label)) as shown:
        next(shown)
        yield


def import_slowly(module: str, label: str, seconds: float = 10.0) -> None:
    """Import a package that takes seconds to import, and say so meanwhile; see `step`."""
    if module not in sys.modules:
        with step(label, seconds):
            import_module(module)


def duration(seconds: float) -> str:
    """Return a duration as minutes and seconds.

    >>> duration(75), duration(4000)
    ('1:15', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _bar(**options: Any) -> Any:
    """Return a bar on standard error; None if that is no terminal."""
    stream = bare(sys.stderr)
    if stream is None or not stream.isatty():
        return None
    from tqdm import tqdm

    return tqdm(file=stream, dynamic_ncols=True, **options)


def _above_bars(text: str, stream: TextIO | None) -> None:
    terminal = bare(sys.stderr)
    if terminal is None or not terminal.isatty():
        _write(text, stream)
        return
    from tqdm import tqdm

    with tqdm.external_write_mode(file=terminal):
        _write(text, stream)


def _write(text: str, stream: TextIO | None) -> None:
    """Write lines, unless nobody can read them, which is no reason to end the work."""
    if stream is not None:
        with suppress(OSError):
            stream.write("".join(f"{printable(line)}\n" for line in text.split("\n")))
            stream.flush()
