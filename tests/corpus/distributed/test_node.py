from pathlib import Path
from typing import Any

import pytest
from tests.distributed import open_echo

from ranklet.corpus.building.writer import sha256
from ranklet.corpus.distributed.node import Order, Worker, error_line, package_versions, take_error
from ranklet.corpus.errors import ClusterError
from ranklet.runtime.ground.errors import InputError, MissingPackageError, RankletError

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "error", [InputError("a: b"), ClusterError(""), RankletError("é\nb"), MissingPackageError("x")]
)
def test_an_error_is_the_same_after_its_way(error: RankletError) -> None:
    found = take_error(error_line(error))
    assert (type(found), str(found)) == (type(error), str(error))


def test_another_error_becomes_one_line() -> None:
    found = take_error(error_line(ValueError("one\n two")))
    assert isinstance(found, ClusterError)
    assert str(found) == "a node of the cluster failed: ValueError: one two"


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Order:
    from ranklet.corpus.distributed import node

    for name in node.THREADS:  # which an actor changes
        monkeypatch.setenv(name, "1")
    path = tmp_path / "file"
    path.write_bytes(b"!")
    return Order(open_echo, {}, "file", str(path), sha256(path), package_versions(), 1)


def results(worker: Worker, *payloads: bytes) -> list[dict[str, Any]]:
    numbers = pa.array(range(len(payloads)), pa.int64())
    batch = pa.table({"number": numbers, "payload": pa.array(payloads, pa.large_binary())})
    found: list[dict[str, Any]] = worker(batch).to_pylist()
    return found


def test_an_actor_opens_the_file_and_returns_errors_as_values(order: Order) -> None:
    found = results(Worker(order, []), b"a", b"bad", b"b")
    assert [(each["number"], each["result"]) for each in found] == [
        (0, b"a!"),
        (1, b""),
        (2, b"b!"),
    ]
    assert [each["fault"] for each in found] == ["", "InputError: this payload is bad", ""]


def test_a_file_that_a_node_lacks_comes_by_its_content(
    order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(order.path).write_bytes(b"another file at this place")
    monkeypatch.setattr(Worker, "_parts", lambda _: iter([b"?", b"!"]))
    assert results(Worker(order, []), b"a")[0]["result"] == b"a?!"
