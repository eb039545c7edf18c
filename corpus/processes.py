"""Do the same to many blocks of strings, in processes if they are many.

Python's threads share one processor. A process runs this module, because `multiprocessing` would
copy the locks of other threads (fork) or run the caller's script again (spawn).
"""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from importlib import import_module
from itertools import chain
from itertools import count as counting
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np

from ranklet.runtime.ground.errors import CollectionError, RankletError
from ranklet.runtime.onnx.session import threads

Block = list[bytes]
Work = Callable[[Block], Block]  # what is done with each block
Open = Callable[[Mapping[str, Any]], Work]  # a function of a module, which gets settings
Order = tuple[str, Mapping[str, Any]]  # such a function's name, and its settings

MANY = 32 << 20  # bytes from which on processes take less time than they need to start
BLOCK = 1 << 20  # bytes of a block, unless one string has more
MOST = 8  # processes, because this one must give them work and take what they return
_ALONE = "set RANKLET_THREADS=1, so that only one reads them"
_WAITING = 3  # blocks per process that are given or returned at a time


def each(
    open_work: Open,
    settings: Mapping[str, Any],
    blocks: Iterable[Block],
    size: int = 0,
    *,
    many: int | None = None,
    spared: int = 0,
) -> Iterator[Block]:
    """Yield what becomes of each block, in order.

    One process gets every block that it does in order, and may keep what it knows of earlier ones.

    Args:
        open_work: returns what is done with each block.
        settings: what it gets, as JSON has them.
        blocks: strings, read a few blocks ahead.
        size: how many bytes they have, as far as that is known. Blocks of unknown size wait in
            memory until they are many.
        many: bytes from which on other processes do it; `MANY` by default.
        spared: how many of these processes are left for what is done at the same time.

    Raises:
        CollectionError: a process cannot be started, or has ended.
    """
    # Windows passes on no descriptors, and the executable of a frozen program is the program.
    able = os.name == "posix" and bool(sys.executable) and not hasattr(sys, "frozen")
    count = min(threads(), MOST) if able else 1
    many = MANY if many is None else many
    ahead, blocks, known = list[Block](), iter(blocks), size if size >= many else 0
    while count > 1 and known < many and (block := next(blocks, None)) is not None:
        ahead.append(block)
        known += sum(map(len, block))
    if count == 1 or known < many:
        yield from map(open_work(settings), chain(ahead, blocks))
        return
    order = f"{open_work.__module__}:{open_work.__qualname__}", settings
    shared, most = _pool.get(), max(1, count - spared)
    with (
        nullcontext(shared) if shared else _Pool() as processes,
        processes.doing(order, count, most) as give,
    ):
        waiting = deque[Future[Block]]()
        try:
            for block in chain(ahead, blocks):
                waiting.append(give(block))
                if len(waiting) == _WAITING * most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            wait([future for future in waiting if not future.cancel()])


@contextmanager
def one_pool() -> Iterator[None]:
    """Let all that is done inside by `each` be done by the same processes."""
    with _Pool() as processes:
        token = _pool.set(processes)
        try:
            yield
        finally:
            _pool.reset(token)


def cut_blocks(strings: Iterable[bytes]) -> Iterator[Block]:
    """Yield successive strings in blocks of some size, the last of which may be empty."""
    block, size = Block(), 0
    for string in strings:
        block.append(string)
        size += len(string)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    yield block


class _Pool:
    """Processes that are started when they are needed first, and end with the context."""

    def __init__(self) -> None:
        self._stack, self._lock = ExitStack(), Lock()
        self._processes = list[_Process]()
        self._numbers = counting()
        self._open = set[int]()  # numbers of the orders that are being done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def doing(
        self, order: Order, count: int, most: int
    ) -> Iterator[Callable[[Block], Future[Block]]]:
        """Start so many processes, and return what gives a block of an order to one of the first.

        Several orders may be done at a time. A process does what it was given in order.
        """
        with self._lock:
            while len(self._processes) < count:
                self._processes.append(self._stack.enter_context(_Process()))
            number = next(self._numbers)
            self._open.add(number)

        def give(block: Block) -> Future[Block]:
            with self._lock:
                process = min(self._processes[:most], key=_Process.waiting)
                return process.give(number, order, sorted(self._open), block)

        try:
            yield give
        finally:
            with self._lock:
                self._open.remove(number)


_pool: ContextVar[_Pool | None] = ContextVar("pool", default=None)


class _Process:
    """A process that does the work that orders name, until the context ends."""

    def __init__(self) -> None:
        self._known = set[int]()  # numbers of the orders that it was given
        self._given = list[Future[Block]]()
        try:
            self._process, self._connection = start_process(__name__)
        except OSError as error:  # such as a limit of processes, or a Python that has moved
            raise CollectionError(
                f"no process can be started to read texts ({error}); {_ALONE}"
            ) from error
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.shutdown(cancel_futures=True)
        self._connection.close()

    def waiting(self) -> int:
        """Return how many blocks it was given and has not done."""
        self._given = [future for future in self._given if not future.done()]
        return len(self._given)

    def give(self, number: int, order: Order, open_: Sequence[int], block: Block) -> Future[Block]:
        """Let it do a block by an order, after all others, and forget orders that are not open."""
        head = [number, None if number in self._known else order, open_]
        self._known.add(number)
        self._given.append(self._thread.submit(self._done, json.dumps(head).encode(), block))
        return self._given[-1]

    def _done(self, head: bytes, block: Block) -> Block:
        try:
            _send(self._connection, [head, *block])
            return _receive(self._connection)
        except (EOFError, OSError) as error:
            raise CollectionError(
                f"a process that reads texts has ended (status {self._process.wait()}), perhaps "
                f"for lack of memory; {_ALONE}"
            ) from error


def start_process(
    module: str, environment: Mapping[str, str] | None = None, **options: Any
) -> tuple["subprocess.Popen[bytes]", Connection]:
    """Start a process that runs a module, whose argument is the number of its connection.

    It can import whatever this one can. Ctrl-C is for this process, which ends that one.

    Args:
        module: its name.
        environment: variables that this process need not have.
        options: of `subprocess.Popen`.
    """
    ours, other = Pipe()
    with other:
        process = subprocess.Popen(  # noqa: S603  # this Python, with a module of ours
            [sys.executable, "-P", "-m", module, str(other.fileno())],
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            env={**(environment or {}), **importing()},
            start_new_session=True,
            **options,
        )
    return process, ours


def importing() -> dict[str, str]:
    """Return the environment in which ``python -P`` imports what this process does.

    Without -P, modules that happen to lie in the current folder would come first.
    """
    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # it was deleted
        here = ""
    paths = (str(each) or here for each in sys.path)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def in_fresh_process(script: str, *arguments: str, given: str = "") -> Any:
    """Return the JSON that a script prints that ranks in a process of its own.

    Args:
        script: the code.
        arguments: those of its command line.
        given: its standard input.

    Raises:
        RankletError: it ended with an error.
    """
    process = subprocess.run(  # noqa: S603 (our own interpreter and script)
        [sys.executable, "-P", "-c", script, *arguments], input=given, env=importing(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if process.returncode:
        said = process.stderr.strip().splitlines() or [f"status {process.returncode}"]
        raise RankletError(f"a fresh process cannot rank: {said[-1]}")
    return json.loads(process.stdout)


def _send(connection: Connection, block: Block) -> None:
    connection.send_bytes(np.array(list(map(len, block)), np.int64).tobytes())
    connection.send_bytes(b"".join(block))


def _receive(connection: Connection) -> Block:
    lengths = np.frombuffer(connection.recv_bytes(), np.int64)
    ends, content = np.cumsum(lengths).tolist(), connection.recv_bytes()
    return [content[end - size : end] for end, size in zip(ends, lengths.tolist(), strict=True)]


def _serve(connection: Connection) -> None:
    """Do the work of each block that a connection brings, until it ends."""
    works = dict[int, Work]()  # by the numbers of their orders
    try:
        while True:
            head, *block = _receive(connection)
            number, order, open_ = json.loads(head)
            works = {each: works[each] for each in open_ if each in works}
            if order:
                module, _, function = order[0].partition(":")
                works[number] = getattr(import_module(module), function)(order[1])
            _send(connection, works[number](block))
    except (EOFError, ConnectionError):
        pass


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
