"""Ray's cluster of two nodes: what it makes is what one machine makes, also if a node is killed."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands.running import Capture
from tests.distributed import add_second, kill_second, open_echo, open_gate, two_nodes, wait_for
from tests.kinds import TinyRankers
from tests.updates import WHOLE, first_records, held, seeded

from ranklet.corpus.distributed import shards
from ranklet.corpus.distributed.cluster import Task, connected
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.corpus.errors import ClusterError
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.update import update
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from tests.conftest import Built

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as nodes:
        yield nodes


def on(cluster: Any, **options: Any) -> EngineOptions:
    return EngineOptions(engine="ray", address=cluster.address, **options)


def test_an_index_and_an_update_equal_those_of_one_machine(
    cluster: Any, tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 4)
    records = first_records(seeded(4), 14)
    new = [{"id": "new", "text": "a new apple"}, {"id": "d1", "text": "another text"}]
    found = []
    for name, engine in (("here", EngineOptions()), ("there", on(cluster))):
        path = tmp_path / name
        index_bundle(tiny.exported("dense"), Source(records, WHOLE), path, engine=engine)
        before = held(path)
        update(path, Source(new, WHOLE), delete=["d3"], engine=engine)
        found.append((before, held(path)))
    assert found[0] == found[1]


def test_errors_of_nodes_are_errors_of_ranklet(
    cluster: Any, built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file").write_bytes(b"!")
    task = Task(open_echo, {}, tmp_path / "file")
    with connected(on(cluster)) as nodes:
        assert nodes is not None
        assert sorted(nodes.each(task, [b"a", b"b"])) == [(0, b"a!"), (1, b"b!")]
        made = nodes.each(task, [b"a", b"worse"])
        assert next(made) == (0, b"a!")
        with pytest.raises(ClusterError, match=r"^a node of the cluster failed: ValueError: two l"):
            next(made)
        with pytest.raises(ClusterError, match="was lost"):  # the connection has ended with it
            list(nodes.each(task, [b"a"]))
    with pytest.raises(InputError, match="has room for 2"), connected(on(cluster, num_actors=3)):
        pass
    with pytest.raises(InputError, match="has 0 GPUs"), connected(on(cluster, gpus_per_actor=1.0)):
        pass


def test_an_index_equals_that_of_one_machine_though_a_node_was_killed(
    cluster: Any, built: "Built", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 2)
    records = first_records(seeded(6), 12)
    finished = tmp_path / ".there.resume" / "shards"

    def kill() -> None:
        wait_for(lambda: finished.is_dir() and any(finished.glob("*.zip")))
        kill_second(cluster)

    killing = threading.Thread(target=kill)
    killing.start()
    source = Source(records, WHOLE)
    there = Path(index_bundle(built.exported, source, tmp_path / "there", engine=on(cluster)))
    killing.join()
    add_second(cluster)
    assert held(there) == held(
        Path(index_bundle(built.exported, Source(records, WHOLE), tmp_path / "here"))
    )


def test_a_cluster_that_is_lost_is_an_error(cluster: Any, tmp_path: Path) -> None:
    """The last test, because nothing is left of the cluster."""
    (tmp_path / "file").touch()
    folder = tmp_path / "waiting"
    folder.mkdir()
    with connected(on(cluster)) as connection:
        assert connection is not None
        made = connection.each(
            Task(open_gate, {"folder": str(folder)}, tmp_path / "file"), [b"a", b"b"]
        )

        def kill() -> None:
            wait_for(lambda: any(folder.iterdir()))
            kill_second(cluster)  # the process may be connected through either node
            cluster.remove_node(cluster.head_node, allow_graceful=False)

        ends = threading.Thread(target=kill)
        ends.start()
        with pytest.raises(ClusterError, match="was lost"):
            next(made)
        ends.join()
