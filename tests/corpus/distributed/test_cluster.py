"""What is said of clusters that do not answer; tests/journeys/test_ray.py has one that does."""

import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from ranklet.corpus.distributed import cluster
from ranklet.corpus.distributed.cluster import connected
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.corpus.errors import ClusterError
from ranklet.runtime.ground.errors import InputError, MissingPackageError


def connect(address: str) -> None:
    with connected(EngineOptions(engine="ray", address=address)):
        raise AssertionError("nothing answers there")


@pytest.fixture
def has_ray() -> None:
    pytest.importorskip("ray")


@pytest.fixture
def other_server() -> Iterator[str]:
    """Yield the address of a server that speaks another protocol."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"220 mail.example.org\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        answering.join()


def test_this_machine_alone_needs_no_cluster() -> None:
    with connected(EngineOptions()) as nodes:
        assert nodes is None


@pytest.mark.usefixtures("has_ray")
@pytest.mark.parametrize("address", ["here", "ray://host:10001", ":1", "host:", "host:70000"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"give HOST:PORT as `ray start --head` printed it"):
        connect(address)


@pytest.mark.usefixtures("has_ray")
def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ClusterError, match=f"no cluster of Ray answers at '127.0.0.1:{port}'"):
        connect(f"127.0.0.1:{port}")


@pytest.mark.usefixtures("has_ray")
def test_somebody_else_answers(other_server: str) -> None:
    with pytest.raises(ClusterError, match="what answers there is not Ray"):
        connect(other_server)


@pytest.mark.usefixtures("has_ray")
def test_the_variable_of_ray_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster.ADDRESS, "nonsense")
    with pytest.raises(InputError, match="the address of the cluster is 'nonsense'"):
        connect("")


@pytest.mark.parametrize("missing", ["ray", "pyarrow"])
def test_a_missing_package_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda name: None if name == missing else True)
    with pytest.raises(MissingPackageError, match=r"pip install .*\[ray\]'"):
        connect("host:1")


def test_a_process_that_ends_is_a_cluster_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: True)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.delenv(cluster.ADDRESS, raising=False)
    with pytest.raises(ClusterError, match="was lost"):
        connect("")
