"""Run the service with uvicorn: listen, drain on SIGTERM, keep several processes running."""

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from math import ceil
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep
from types import FrameType
from typing import Any

import uvicorn

from ranklet.handlers import logs
from ranklet.handlers.server.connection import BoundedProtocol
from ranklet.handlers.server.connection_turns import InTurns
from ranklet.handlers.server.hosts import is_local
from ranklet.handlers.server.json_lines import JSONLines
from ranklet.handlers.server.service import Service, numbers
from ranklet.handlers.server.settings import ServerSettings
from ranklet.handlers.server.shared_counts import SharedCounts
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.tracing import tracer
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.onnx.session import processors

KEEP_ALIVE_SECONDS = 75  # longer than load balancers keep a connection, so that they hang up first
SWITCH_SECONDS = 0.0005  # how long a thread may keep the interpreter while others want it
STOPPING = (signal.SIGTERM, signal.SIGINT)
RESTART_SECONDS = 1.0  # between the end of a process and the start of its successor


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        InputError: the server cannot listen on the address.
        MissingPackageError: RANKLET_TRACES wants a package that is not installed.
    """
    tracer()  # raises here what each request would
    _raise_limit_of_files()
    with listen(settings) as listening:
        address = _address(listening)
        logs.write("NOTICE", f"listening on http://{address}", workers=settings.workers)
        # A name such as localhost has become the address that it leads to.
        settings = replace(settings, host=listening.getsockname()[0])
        if not (is_local(settings.host) or settings.api_keys or settings.key_filters):
            logs.write(
                "WARNING",
                f"whoever reaches {address} can read all documents: there is no API key; set "
                "RANKLET_API_KEY, or listen on 127.0.0.1",
            )
        _supervise(settings, listening)


def run(
    settings: ServerSettings, listening: socket.socket, counts: SharedCounts | None = None
) -> None:
    """Serve in this process; without the counts of several it is alone."""
    for logger in map(logging.getLogger, ("uvicorn", "asyncio")):
        logger.handlers, logger.propagate = [JSONLines(logging.WARNING)], False
    # By default a thread that ranks may keep the interpreter for 5 ms, and all others wait for it.
    sys.setswitchinterval(SWITCH_SECONDS)
    counts = counts or SharedCounts(numbers(settings))
    service, accepting = Service(settings, counts), InTurns(listening, counts)

    class Connection(BoundedProtocol):
        header_seconds = settings.header_seconds
        answer_seconds = settings.limits.seconds
        most = settings.connections
        busy = service.busy

        def connection_lost(self, exc: Exception | None) -> None:
            accepting.closed()
            super().connection_lost(exc)

    config = uvicorn.Config(
        service.app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=ceil(settings.limits.seconds) + 5,
    )
    _Server(config, service).run([accepting])


class _Server(uvicorn.Server):
    """A server that becomes unready before it stops, and that ends with status 0."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and let collections of garbage never look at what stays for ever."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer all requests that have begun; what waits to be written is refused."""
        self._service.refuse_writes()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Start to drain; stop at once on a second signal."""
        if self._service.draining:
            self.should_exit = self.force_exit = True
            return
        self._service.draining = True
        seconds = self._service.settings.drain if sig == signal.SIGTERM else 0
        logs.write("NOTICE", f"{signal.Signals(sig).name}: shutting down in {seconds} s")
        asyncio.get_running_loop().call_later(seconds, setattr, self, "should_exit", True)


def listen(settings: ServerSettings) -> socket.socket:
    """Return a socket that listens on the address of the settings.

    Raises:
        InputError: the server cannot listen on the address.
    """
    host = settings.host.removeprefix("[").removesuffix("]")  # as URLs write IPv6
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # IPPROTO_TCP by name, because asyncio turns off Nagle's algorithm only on sockets that name it.
    # With Nagle's algorithm a response's head and body would wait 40 ms for each other.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, settings.port))
    except (OSError, ValueError, TypeError) as error:  # ValueError, TypeError: it is no name
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else "it is no name of a host"
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {reason}; choose another "
            "host or port"
        ) from error
    listening.listen(2048)
    listening.set_inheritable(True)
    return listening


def _raise_limit_of_files() -> None:
    """Let this process and its children open as many files and connections as the system allows.

    Where 1,024 is the usual limit, a thousand connections and the files of a bundle exceed it.
    """
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _supervise(settings: ServerSettings, listening: socket.socket) -> None:
    with _counts_folder(settings) as folder:
        _keep_running(settings, listening, folder)


def _keep_running(settings: ServerSettings, listening: socket.socket, folder: Path | None) -> None:
    """Keep processes running that accept connections from one socket, even if it is only one.

    A native library can end a process at any time, and so does the kernel when a mapped file of the
    bundle is shortened. Then another process takes over, and the log says why.

    The processes share the memory of the bundle, because each maps its files. Each is spawned,
    because threads and onnxruntime do not survive a fork.
    """
    if settings.workers > 1:  # together the models of all processes use each processor once
        per_worker = max(1, processors() // settings.workers)
        os.environ.setdefault(Variable.THREADS, str(per_worker))
    context = multiprocessing.get_context("spawn")
    workers: list[BaseProcess] = []
    rows: dict[BaseProcess, int] = {}  # of the counts that they share
    received: list[int] = []

    def stop(sig: int, _: Any) -> None:
        # Two signals of a kind that wait for a busy worker are one to it, so the second is another.
        kind = next(each for each in STOPPING if each != received[0]) if received else sig
        received.append(sig)
        for worker in workers:
            _signal(worker, kind)

    def start() -> None:
        row = min({*range(settings.workers)} - {*rows.values()})
        arguments = settings, listening, folder, row
        worker = context.Process(target=_work, args=arguments, daemon=True)
        with _signals_held_back():
            worker.start()
            workers.append(worker)
            rows[worker] = row

    for sig in STOPPING:
        signal.signal(sig, stop)
    for _ in range(settings.workers):
        start()
    while workers:
        ended = wait([worker.sentinel for worker in workers])
        for worker in [each for each in workers if each.sentinel in ended]:
            workers.remove(worker)
            del rows[worker]
            worker.join()
            if received:
                continue
            logs.write("ERROR", _ending(worker.exitcode))
            sleep(RESTART_SECONDS)
            if not received:
                start()


@contextmanager
def _counts_folder(settings: ServerSettings) -> Iterator[Path | None]:
    """Yield a folder for what all processes count together, None if none can be made."""
    with ExitStack() as stack:
        folder: Path | None = None
        try:
            made = TemporaryDirectory(prefix="ranklet-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
            SharedCounts.make(numbers(settings), folder, settings.workers)
        except OSError as error:
            folder = None
            logs.write(
                "WARNING",
                f"every process counts for itself, because there is no temporary folder: {error}",
            )
        yield folder


def _work(
    settings: ServerSettings, listening: socket.socket, folder: Path | None, row: int
) -> None:
    """Serve in a process of the supervisor until the supervisor asks it to stop, or ends."""
    # At a terminal Ctrl-C would reach this process directly, too, and count as a second signal.
    if hasattr(os, "setpgrp"):  # Windows has no groups
        os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # there is nothing to shut down yet
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    supervisor = multiprocessing.parent_process()

    def follow() -> None:
        if supervisor is not None:
            wait([supervisor.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, name="ranklet supervisor", daemon=True).start()
    counts = SharedCounts(numbers(settings), folder, row, settings.workers) if folder else None
    run(settings, listening, counts)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let signals to stop wait until the block ends, and in a process that it starts even longer.

    So none is lost while a process starts, and none ends it with a stack on standard error.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    ensure_running()  # else the start of the first process would start this, which lets them in
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def _signal(worker: BaseProcess, sig: int) -> None:
    """Send a signal to a process unless it has ended."""
    if worker.pid is not None and worker.is_alive():
        with suppress(ProcessLookupError):
            os.kill(worker.pid, sig)


def _ending(status: int | None) -> str:
    """Return what to say of a process that ended by itself.

    >>> _ending(3)
    'a worker ended with 3; another one starts'
    """
    how = f"with {status}"
    if status is not None and status < 0:
        with suppress(ValueError):  # a signal of the system's own
            how = f"by {signal.Signals(-status).name}"
    hint = ""
    if how == "by SIGBUS":
        hint = (
            ". A file of the bundle was shortened while it was mapped, as `cp` does: replace a "
            "bundle by renaming another into its place, as `mv` does"
        )
    return f"a worker ended {how}; another one starts{hint}"
