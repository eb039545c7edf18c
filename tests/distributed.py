"""Work for a cluster: on two nodes of Ray on this machine, or in this process."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType
from typing import Any

import pytest

from ranklet.corpus import index
from ranklet.corpus.distributed.cluster import Cluster, Task
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.corpus.updating import update
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows import build

RAY = EngineOptions(engine="ray")
SECONDS = 500  # a busy machine starts a node late


class InProcess(Cluster):
    """Does in this process what the nodes of a cluster would.

    Attributes:
        given: all payloads so far.
    """

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def each(self, task: Task, payloads: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        work, found = None, list[tuple[int, bytes]]()
        for number, payload in enumerate(payloads):
            work = work or task.open(task.path, task.settings)
            self.given.append(payload)
            found.append((number, work(payload)))
        yield from reversed(found)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """Let this process be the cluster."""
    cluster = InProcess()

    @contextmanager
    def connected(options: EngineOptions) -> Iterator[Cluster | None]:
        yield cluster if options.on_ray else None

    modules: tuple[ModuleType, ...] = (build, index, update)
    for module in modules:
        monkeypatch.setattr(module, "connected", connected)
    return cluster


def open_echo(path: Path, settings: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Return what adds the content of the file to a payload, and refuses some payloads."""
    content = path.read_bytes()

    def echo(payload: bytes) -> bytes:
        if payload == b"bad":
            raise InputError("this payload is bad")
        if payload == b"worse":
            raise ValueError("two\nlines")
        return payload + content

    return echo


def open_gate(path: Path, settings: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Return what waits for a file before it returns a payload, and says that it waits.

    Args:
        path: of no interest.
        settings: ``folder`` has a file named after the node while it waits, and waits for ``go``.
    """
    import ray

    folder = Path(settings["folder"])
    node = ray.get_runtime_context().get_node_id()

    def gated(payload: bytes) -> bytes:
        (folder / f"{node}-{os.getpid()}").touch()
        wait_for(lambda: (folder / "go").exists())
        return payload

    return gated


def wait_for(ready: Callable[[], bool]) -> None:
    """Wait until something is so; the time limit only ends a test that would never end."""
    end = monotonic() + SECONDS
    while not ready():
        if monotonic() > end:
            raise TimeoutError("it has not come to pass")
        sleep(0.1)


SIZE = {"object_store_memory": 100 << 20}  # bytes


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Start a cluster of Ray with nodes of one and of two processors; it ends in any case.

    It has room for two actors, of which the second node has one at least.
    """
    ray_cluster = pytest.importorskip("ray.cluster_utils")
    # A lost head is noticed after this time; a minute would be waited for otherwise.
    os.environ["RAY_gcs_rpc_server_reconnect_timeout_s"] = "5"  # noqa: SIM112  # Ray's own name
    head = {"num_cpus": 1, "include_dashboard": False, **SIZE}
    cluster = ray_cluster.Cluster(initialize_head=True, head_node_args=head)
    try:
        add_second(cluster)
        yield cluster
    finally:
        cluster.shutdown()


def add_second(cluster: Any) -> None:
    """Add the second node."""
    cluster.add_node(num_cpus=2, **SIZE)


def kill_second(cluster: Any) -> None:
    """Kill the processes of the second node."""
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
