"""A forwarder between a client and a server that can hang, refuse, and work again."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread


class Forwarder:
    """Forwards connections to a port, as long as it `works`.

    Attributes:
        address: ``127.0.0.1:PORT``.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._works = Event()
        self._works.set()
        self._open: list[socket.socket] = []
        self._listening = self._listen(0)
        self._port: int = self._listening.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"

    def hang(self) -> None:
        """Accept and read, but forward nothing any more."""
        self._works.clear()

    def refuse(self) -> None:
        """End all connections and accept none."""
        self._close(self._listening)
        for each in self._open:
            self._close(each)
        self._open = []

    def work(self) -> None:
        """Forward again."""
        self._works.set()
        if self._listening.fileno() < 0:
            self._listening = self._listen(self._port)

    def close(self) -> None:
        """End everything."""
        self._works.set()
        self.refuse()

    def _listen(self, port: int) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", port))
        Thread(target=self._accept, args=(listening,), daemon=True).start()
        return listening

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):  # closed
            while True:
                ours, _ = listening.accept()
                theirs = socket.create_connection(("127.0.0.1", self._to))
                self._open += [ours, theirs]
                for a, b in ((ours, theirs), (theirs, ours)):
                    Thread(target=self._forward, args=(a, b), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._works.wait()
                target.sendall(data)
        self._close(source)
        self._close(target)

    @staticmethod
    def _close(each: socket.socket) -> None:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)  # ends a thread that waits for it
        each.close()


@contextmanager
def forwarder(port: int) -> Iterator[Forwarder]:
    """Yield a forwarder to a port of this machine."""
    made = Forwarder(port)
    try:
        yield made
    finally:
        made.close()
