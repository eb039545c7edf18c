"""Run the service with uvicorn: listen, drain on SIGTERM, keep several processes running."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
from dataclasses import replace
from multiprocessing.process import BaseProcess
from time import sleep
from types import FrameType
from typing import Any

import uvicorn

from ranklet.handlers import logs
from ranklet.handlers.server.connection import BoundedProtocol
from ranklet.handlers.server.hosts import is_local
from ranklet.handlers.server.service import Service
from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.errors import InputError
from ranklet.runtime.onnx.session import THREADS_VARIABLE, processors

KEEP_ALIVE_SECONDS = 75  # longer than load balancers keep a connection, so that they hang up first
SWITCH_SECONDS = 0.0005  # how long a thread may keep the interpreter while others want it
RESTART_SECONDS = 1.0  # between the end of a process and the start of its successor


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        InputError: the server cannot listen on the address.
    """
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
        if settings.workers == 1:
            run(settings, listening)
        else:
            _supervise(settings, listening)


def run(settings: ServerSettings, listening: socket.socket) -> None:
    """Serve in this process."""
    logger = logging.getLogger("uvicorn")
    logger.handlers, logger.propagate = [logs.JSONLines(logging.WARNING)], False
    # By default a thread that ranks may keep the interpreter for 5 ms, and all others wait for it.
    sys.setswitchinterval(SWITCH_SECONDS)
    service = Service(settings)

    class Connection(BoundedProtocol):
        header_seconds = settings.header_seconds
        answer_seconds = settings.limits.seconds

    config = uvicorn.Config(
        service.app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.limits.seconds + 5,
    )
    _Server(config, service).run([listening])


class _Server(uvicorn.Server):
    """A server that becomes unready before it stops, and that ends with status 0."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

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
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # IPPROTO_TCP by name, because asyncio turns off Nagle's algorithm only on sockets that name it.
    # With Nagle's algorithm a response's head and body would wait 40 ms for each other.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
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


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _supervise(settings: ServerSettings, listening: socket.socket) -> None:
    """Keep several processes running that accept connections from one socket.

    They share the memory of the bundle, because each maps its files. Each process is spawned,
    because threads and onnxruntime do not survive a fork.
    """
    # Together the models of all processes use each processor once.
    os.environ.setdefault(THREADS_VARIABLE, str(max(1, processors() // settings.workers)))
    context = multiprocessing.get_context("spawn")
    stopping = False

    def stop(sig: int, _: Any) -> None:  # noqa: ARG001
        nonlocal stopping
        stopping = True
        for worker in workers:
            if worker.is_alive():
                worker.terminate()

    def start() -> BaseProcess:
        process = context.Process(target=run, args=(replace(settings, workers=1), listening))
        process.start()
        return process

    workers: list[BaseProcess] = []
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, stop)
    workers += [start() for _ in range(settings.workers)]
    while any(worker.is_alive() for worker in workers) or not stopping:
        sleep(RESTART_SECONDS / 4)
        for at, worker in enumerate(workers):
            if not worker.is_alive() and not stopping:
                logs.write("ERROR", f"a worker ended with {worker.exitcode}; another one starts")
                sleep(RESTART_SECONDS)
                if not stopping:
                    workers[at] = start()
    for worker in workers:
        worker.join()
