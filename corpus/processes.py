"""Do the same to many blocks of strings, in processes if they are many.

Python's threads share one processor. A process runs this module, because `multiprocessing` would
copy the locks of other threads (fork) or run the caller's script again (spawn).
"""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from itertools import chain
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import numpy as np

from ranklet.runtime.errors import CollectionError, RankletError
from ranklet.runtime.onnx.session import threads

Block = list[bytes]
Work = Callable[[Block], Block]  # what is done with each block
Open = Callable[[Mapping[str, Any]], Work]  # a function of a module, which gets settings

MANY = 32 << 20  # bytes from which on processes take less time than they need to start
BLOCK = 1 << 20  # bytes of a block, unless one string has more
MOST = 8  # processes, because this one must give them work and take what they return
_ALONE = "set RANKLET_THREADS=1, so that only one reads them"
_WAITING = 3  # blocks per process that are given or returned at a time


def each(
    open_work: Open, settings: Mapping[str, Any], blocks: Iterable[Block], many: int | None = None
) -> Iterator[Block]:
    """Yield what becomes of each block, in order.

    One process gets every block that it does in order, and may keep what it knows of earlier ones.

    Args:
        open_work: returns what is done with each block.
        settings: what it gets, as JSON has them.
        blocks: strings, read a few blocks ahead.
        many: bytes from which on other processes do it; `MANY` by default.

    Raises:
        CollectionError: a process cannot be started, or has ended.
    """
    # Windows passes on no descriptors, and the executable of a frozen program is the program.
    able = os.name == "posix" and bool(sys.executable) and not hasattr(sys, "frozen")
    count = min(threads(), MOST) if able else 1
    ahead, size, blocks = list[Block](), 0, iter(blocks)
    many = MANY if many is None else many
    while count > 1 and size < many and (block := next(blocks, None)) is not None:
        ahead.append(block)
        size += sum(map(len, block))
    if count == 1 or size < many:
        yield from map(open_work(settings), chain(ahead, blocks))
        return
    name = f"{open_work.__module__}:{open_work.__qualname__}"
    order = [name.encode(), json.dumps(settings).encode()]
    with ExitStack() as stack:
        idle = SimpleQueue[_Process]()
        for _ in range(count):
            idle.put(stack.enter_context(_Process(order)))
        pool = stack.enter_context(ThreadPoolExecutor(count))

        def done(block: Block) -> Block:
            process = idle.get()
            try:
                return process.done(block)
            finally:
                idle.put(process)

        waiting = deque[Future[Block]]()
        for block in chain(ahead, blocks):
            waiting.append(pool.submit(done, block))
            if len(waiting) == _WAITING * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def blocks_of(strings: Iterable[bytes]) -> Iterator[Block]:
    """Yield successive strings in blocks of some size, the last of which may be empty."""
    block, size = Block(), 0
    for string in strings:
        block.append(string)
        size += len(string)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    yield block


class _Process:
    """A process that does the work that an order names, until the context ends."""

    def __init__(self, order: Block) -> None:
        self._order = order  # which it gets before its first block
        try:
            self._process, self._connection = start_process(__name__)
        except OSError as error:  # such as a limit of processes, or a Python that has moved
            raise CollectionError(
                f"no process can be started to read texts ({error}); {_ALONE}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()  # which ends it
        self._process.kill()
        self._process.wait()

    def done(self, block: Block) -> Block:
        try:
            if self._order:
                _send(self._connection, self._order)
                self._order = []
            _send(self._connection, block)
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
    try:
        name, settings = (each.decode() for each in _receive(connection))
        module, _, function = name.partition(":")
        work: Work = getattr(import_module(module), function)(json.loads(settings))
        while True:
            _send(connection, work(_receive(connection)))
    except (EOFError, ConnectionError):
        pass


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
