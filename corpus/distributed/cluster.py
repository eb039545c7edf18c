"""Give work to a Ray cluster, through a process of its own that is connected to it.

Ray ends a process whose cluster is lost, without an exception, and it changes the signals and the
logging of a process. So it gets another one than the command's (ranklet.corpus.distributed.driver).
"""

import os
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.distributed import driver
from ranklet.corpus.distributed.node import Open, take_error
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.corpus.errors import ClusterError
from ranklet.corpus.processes import start_process
from ranklet.runtime.ground.errors import InputError, MissingPackageError
from ranklet.runtime.ground.extras import install
from ranklet.runtime.ground.options import check_type

ADDRESS = "RAY_ADDRESS"  # the variable that Ray reads, too
SECONDS = 20.0  # that a head node may take to answer
END_SECONDS = 60.0  # that the process may take to end

# What a client of HTTP/2 begins with, an empty frame of settings included, and the place of the
# type in the first frame of the answer, which has settings, too (RFC 9113, §3.4 and §4.1).
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_HEADER, _TYPE, _SETTINGS = 9, 3, 4


class Task(NamedTuple):
    """What actors do with payloads.

    Attributes:
        open: a function of a module, which returns what is done with each payload.
        settings: the settings that `open` gets, as JSON has them.
        path: the file or folder whose path `open` gets; a folder travels as a zip without
            compression.
    """

    open: Open
    settings: Mapping[str, Any]
    path: Path


class Cluster:
    """A cluster that a process of this object is connected to; see `connected`."""

    def __init__(self, process: "subprocess.Popen[bytes]", connection: Connection) -> None:
        self._process, self._connection = process, connection

    def each(self, task: Task, payloads: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each payload, from 0 on, and what becomes of it, once it is done.

        If a node or an actor is lost, others do its payloads again. Whoever does not take all
        results cannot use the cluster any more.

        Raises:
            RankletError: a payload could not be done; the first such error, as it was raised there.
            ClusterError: the cluster is lost.
        """
        complete = False
        try:
            with _losses():
                self._send(
                    {
                        "open": f"{task.open.__module__}:{task.open.__qualname__}",
                        "settings": dict(task.settings),
                        "path": str(task.path.absolute()),
                    }
                )
            count = 0
            for payload in payloads:
                with _losses():
                    self._connection.send_bytes(payload)
                count += 1
            with _losses():
                self._connection.send_bytes(driver.END)
            for _ in range(count):
                with _losses():
                    self._wait()
                    number = int(self._connection.recv_bytes())
                    result = self._connection.recv_bytes()
                yield number, result
            complete = True
        finally:
            if not complete:
                self._process.terminate()  # it may wait for actors, and not for the connection
                self.close()

    def begin(self, address: str, options: EngineOptions) -> None:
        """Wait for the connection to the cluster, or for Ray's start on this machine.

        Raises:
            InputError: the cluster is too small.
            ClusterError: no cluster answers.
        """
        with _losses():
            self._send({"address": address, "options": asdict(options)})
            self._wait()

    def _wait(self) -> None:
        """Wait until something is done.

        Raises:
            RankletError: it could not be done.
        """
        if fault := self._connection.recv_bytes().decode():
            raise take_error(fault)

    def close(self) -> None:
        """End the connection and the process, which ends what it has started."""
        self._connection.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, order: Mapping[str, Any]) -> None:
        self._connection.send_bytes(driver.packed(order))


@contextmanager
def connected(options: EngineOptions) -> Iterator[Cluster | None]:
    """Connect to a cluster while the context lasts; None if the engine is local.

    Raises:
        InputError: the address is wrong, or the cluster is too small.
        ClusterError: no cluster answers.
        MissingPackageError: ray is not installed.
    """
    check_type("engine", options, EngineOptions)
    if not options.on_ray:
        yield None
        return
    if missing := [name for name in ("ray", "pandas", "pyarrow") if find_spec(name) is None]:
        raise MissingPackageError(
            f"--engine ray needs the package {missing[0]!r}; run: {install('ray')}", name=missing[0]
        )
    address = options.address or os.environ.get(ADDRESS, "")
    if address not in ("", "auto", "local"):
        _check_answers(address)
    # Ray prints a lot, and reports how it is used unless a variable says otherwise at its start.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    cluster = Cluster(*start_process(driver.__name__, {"RAY_USAGE_STATS_ENABLED": "0"}, **quiet))
    try:
        cluster.begin(address, options)
        yield cluster
    finally:
        cluster.close()


def _check_answers(address: str) -> None:
    """Raise an error unless something that speaks as a head node does listens at an address.

    Ray would try again for minutes.

    Raises:
        InputError: it is no address.
        ClusterError: nothing answers, or something else does.
    """
    host, _, port = address.rpartition(":")
    if "/" in address or not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise InputError(
            f"the address of the cluster is {address!r}; give HOST:PORT as `ray start --head` "
            "printed it, or auto"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            connection.sendall(_HELLO)
            with connection.makefile("rb") as answer:
                header = answer.read(_HEADER)
        if len(header) < _HEADER or header[_TYPE] != _SETTINGS:
            raise ConnectionError("what answers there is not Ray")
    except OSError as error:
        raise ClusterError(
            f"no cluster of Ray answers at {address!r} ({error.strerror or error}); give HOST:PORT "
            "as `ray start --head` printed it"
        ) from error


@contextmanager
def _losses() -> Iterator[None]:
    """Raise ClusterError if the other process has ended.

    Raises:
        ClusterError: it has.
    """
    try:
        yield
    except (EOFError, OSError) as error:  # OSError of a connection that was closed
        raise ClusterError(
            "the cluster of Ray was lost, or this machine's node of it; start the same command "
            "again when it is up"
        ) from error
