"""The server over standard input and output: a message per line each way.

It is written for its start. An assistant starts it anew for each conversation, and the official
package takes four times as long to import as the first search takes. That package's client tests
the server.
"""

import os
import select
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import Any, BinaryIO

from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.protocol import (
    CALL,
    CANCELLED,
    NO_REQUEST,
    TOO_MANY,
    FaultError,
    Message,
    Protocol,
    is_write,
    read,
    refusal,
    written,
)
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.deadline import caller_gone
from ranklet.runtime.ground.errors import InputError

THREADS, WAITING = 4, 64  # calls that are answered at a time, and that may wait
WRITES = 8  # that may wait, with a thread of their own, because they may wait for other programs


def serve(
    bundle: Callable[[], Bundle], limits: Limits, about: str = "", writer: Writer | None = None
) -> None:
    """Answer a client until it closes standard input.

    Whatever a library prints meanwhile goes to the standard error.

    Args:
        bundle: returns a bundle with a collection, with what was written to it until now.
        limits: the largest arguments of a call.
        about: what the documents are, for the tools' descriptions.
        writer: remembers and forgets; None if nothing may be written.

    Raises:
        InputError: the bundle has no collection.
    """
    if not len(found := bundle()):
        raise InputError(f"{found.path} has no collection to search; add one with `ranklet index`")
    protocol, answers = Protocol(bundle, limits, about, writer=writer), os.dup(1)
    try:
        os.dup2(2, 1)
        Lines(protocol, answers, limits.body_bytes).run(sys.stdin.buffer)
    finally:
        os.dup2(answers, 1)
        os.close(answers)


class Lines:
    """The conversation with a client, which may ask again before it has its answers.

    Args:
        protocol: knows the answers.
        out: the descriptor that answers are written to.
        most: the number of bytes that a line may have.
    """

    def __init__(self, protocol: Protocol, out: int, most: int) -> None:
        self._protocol, self._out, self._most = protocol, out, most
        # By the ids of requests that wait for their answers, what only that request has.
        self._calls: dict[object, object] = {}
        self._writing, self._room = Lock(), BoundedSemaphore(WAITING)
        self._writes = BoundedSemaphore(1 + WRITES)
        self._gone = False

    def run(self, lines: BinaryIO) -> None:
        """Answer each line, until the input ends or nobody reads the answers."""
        with ThreadPoolExecutor(THREADS) as pool, ThreadPoolExecutor(1) as writer:
            for line in self._lines(lines):
                if self._gone:
                    break
                if line.isspace():
                    continue
                try:
                    message = read(line)
                    if message.get("method") == CALL and "id" in message:
                        self._begin(writer if is_write(message) else pool, message, message["id"])
                        continue
                except FaultError as fault:
                    self._write(refusal(fault))
                    continue
                if message.get("method") == CANCELLED:
                    self._cancel((message.get("params") or {}).get("requestId"))
                self._write(self._protocol.answer(message))

    def _lines(self, lines: BinaryIO) -> Iterator[bytes]:
        """Yield the lines that are short enough; the others are answered and passed over."""
        while line := lines.readline(self._most + 1):
            if len(line) <= self._most:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = lines.readline(self._most)
            self._write(
                refusal(FaultError(NO_REQUEST, f"the line has more than {self._most:,} bytes"))
            )

    def _begin(self, pool: ThreadPoolExecutor, message: Message, identity: Any) -> None:
        if identity in self._calls:
            fault = FaultError(NO_REQUEST, "a request with this id is not answered yet")
            fault.identity = identity
            raise fault
        room = self._writes if is_write(message) else self._room
        if not room.acquire(blocking=room is self._room):
            fault = FaultError(TOO_MANY, "too many writes are waiting; try again later")
            fault.identity = identity
            raise fault
        own = self._calls[identity] = object()

        def unwanted() -> bool:
            return self._calls.get(identity) is not own or self._is_closed()

        def answer() -> None:
            caller_gone.set(unwanted)
            try:
                found = None if unwanted() else self._protocol.answer(message)
                waits = self._calls.get(identity) is own  # else it was cancelled
                if waits:
                    self._calls.pop(identity, None)  # before the client may use the id again
                self._write(found if waits else None)
            finally:
                room.release()

        pool.submit(answer)

    def _cancel(self, identity: object) -> None:
        with suppress(TypeError):  # no id
            self._calls.pop(identity, None)

    def _is_closed(self) -> bool:
        """Return whether the client reads no more answers."""
        if not self._gone and hasattr(select, "poll"):  # not on Windows
            looked = select.poll()
            looked.register(self._out, 0)  # for errors only
            self._gone = any(
                event & (select.POLLERR | select.POLLHUP) for _, event in looked.poll(0)
            )
        return self._gone

    def _write(self, answer: Message | None) -> None:
        if answer is None:
            return
        line = memoryview(written(answer))
        with self._writing:
            try:
                while line and not self._gone:
                    line = line[os.write(self._out, line) :]
            except (BrokenPipeError, ConnectionResetError):
                self._gone = True  # the client is gone, so nobody waits for an answer
