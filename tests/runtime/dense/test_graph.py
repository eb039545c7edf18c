"""Both graphs, of usearch and of hnswlib, are searched alike; what usearch reads is checked."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack_into
from typing import Any

import numpy as np
import pytest

from ranklet.runtime.dense import graph as module
from ranklet.runtime.dense import hnsw
from ranklet.runtime.dense.graph import Graph, GraphIndex, build, check_graph
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.errors import BundleError, InputError

pytestmark = pytest.mark.skipif(not module.is_installed(), reason="usearch is not installed")
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(500, 16)).astype(np.float32)
STORED = StoredVectors(VECTORS)
HEAD = 8 + 500 * 16 * 2  # where what usearch says of the vectors begins
NODES = HEAD + 64 + 40 + 2 * 500  # where the first node begins
Opened = Callable[..., Graph]


@pytest.fixture(scope="module", params=["usearch", "hnswlib"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Return what opens a graph of `VECTORS`."""
    if request.param == "usearch":
        content = build(VECTORS)
        return lambda ef=128: GraphIndex(memoryview(content), STORED, ef=ef)
    pytest.importorskip("hnswlib")
    path: Path = tmp_path_factory.mktemp("graph") / "index"
    hnsw.build(VECTORS, path)
    return lambda ef=128: hnsw.HNSWIndex(memoryview(path.read_bytes()), STORED, ef=ef)


@pytest.mark.parametrize("share", [0, 0.005, 0.05, 0.2, 0.5, 0.99, 1])
@pytest.mark.parametrize("visited", [0, module._VISITED, 10**9])
def test_a_mask_leaves_the_ranking_of_the_allowed_documents(
    share: float, visited: int, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so by the graph alone, by whichever is cheaper, and by comparing all alone."""
    monkeypatch.setattr(module, "_VISITED", visited)
    graph, exact = opened(), ExactIndex(STORED)
    shared = wanted_in_all = 0
    for k in (0, 1, 10, 60, 500, 9999):
        for query in RNG.normal(size=(5, 16)).astype(np.float32):
            allowed = RNG.random(500) < share
            wanted, _ = exact.search(query, k, allowed)
            numbers, scores = graph.search(query, k, allowed)
            assert len(numbers) == len(scores) == min(k, np.count_nonzero(allowed))
            assert len(set(numbers.tolist())) == len(numbers)
            assert allowed[numbers].all()
            assert (np.diff(scores) <= 0).all()
            np.testing.assert_allclose(scores, VECTORS[numbers] @ query, atol=1e-4)
            shared += len({*wanted.tolist()} & {*numbers.tolist()})
            wanted_in_all += len(wanted)
    assert shared >= 0.98 * wanted_in_all


def test_a_mask_of_the_farthest_documents_still_finds_all_that_are_wanted(opened: Opened) -> None:
    graph, exact = opened(ef=8), ExactIndex(STORED)
    query = VECTORS[3]
    farthest = exact.search(query, 500)[0][200:]
    allowed = np.zeros(500, bool)
    allowed[farthest] = True
    found, _ = graph.search(query, 7, allowed)
    assert found.tolist() == farthest[:7].tolist()


def test_a_mask_changes_no_later_search_without_one(opened: Opened) -> None:
    graph = opened(ef=2)
    queries = RNG.normal(size=(20, 16)).astype(np.float32)
    before = [graph.search(query, 2) for query in queries]
    for query in queries:
        graph.search(query, 30, RNG.random(500) < 0.7)
    for query, (numbers, scores) in zip(queries, before, strict=True):
        again = graph.search(query, 2)
        assert again[0].tolist() == numbers.tolist()
        assert again[1].tolist() == scores.tolist()


def test_vectors_that_the_graph_does_not_reach_are_found_under_a_mask(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(query: Any, k: int) -> Any:
        return np.empty(0, np.uint32), np.empty(0, np.float32)

    graph = opened(ef=1)
    monkeypatch.setattr(graph, "nearest", unreachable)
    allowed = np.arange(500) % 2 == 0
    wanted = ExactIndex(STORED).search(VECTORS[0], 5, allowed)[0]
    assert graph.search(VECTORS[0], 5, allowed)[0].tolist() == wanted.tolist()


def test_vectors_that_the_graph_does_not_reach_are_found_if_all_are_wanted(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, nearest = opened(), opened().nearest
    monkeypatch.setattr(graph, "nearest", lambda query, k: nearest(query, k // 2))
    wanted = ExactIndex(STORED).search(VECTORS[0], 500)[0]
    assert graph.search(VECTORS[0], 9999)[0].tolist() == wanted.tolist()


def test_a_mask_of_another_collection_is_refused(opened: Opened) -> None:
    graph = opened()
    with pytest.raises(InputError, match=r"shape \(3,\); pass .* of shape \(500,\)"):
        graph.search(VECTORS[0], 1, np.ones(3, bool))


@pytest.mark.parametrize("form", ["float32", "float16", "int8"])
def test_a_graph_finds_what_exact_search_finds_with_its_scores(form: str) -> None:
    stored = StoredVectors.of(VECTORS, form)
    content = build(stored)
    assert content == build(stored)
    graph, exact, shared = GraphIndex(memoryview(content), stored), ExactIndex(stored), 0
    for query in RNG.normal(size=(50, 16)).astype(np.float32):
        wanted, scores = exact.search(query, 10)
        numbers, found = graph.search(query, 10)
        shared += len({*wanted.tolist()} & {*numbers.tolist()})
        assert found[0] == pytest.approx(scores[0], rel=1e-5)
        assert found.tolist() == stored.products_of(numbers, query).tolist()
    assert shared >= 0.98 * 500


@pytest.mark.parametrize("count", [0, 1, 2])
def test_small_collections_have_graphs(count: int) -> None:
    stored = StoredVectors(VECTORS[:count])
    numbers, _ = GraphIndex(memoryview(build(stored)), stored).search(VECTORS[0], 5)
    assert sorted(numbers.tolist()) == list(range(count))


def test_threads_share_a_graph() -> None:
    graph = GraphIndex(memoryview(build(VECTORS)), STORED)
    queries = RNG.normal(size=(200, 16)).astype(np.float32)
    wanted = [graph.search(query, 5)[0].tolist() for query in queries]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: graph.search(query, 5)[0].tolist(), queries))
    assert found == wanted


def test_a_graph_of_another_collection_is_refused() -> None:
    content = memoryview(build(VECTORS))
    for other in (VECTORS[:499], VECTORS[:, :15], VECTORS[:0]):
        with pytest.raises(BundleError, match="graph of vectors"):
            check_graph(content, *other.shape)


DAMAGES: dict[str, Callable[[bytearray], Any]] = {
    "another name": lambda c: pack_into("<7s", c, HEAD, b"usearcg"),
    "numbers of another type": lambda c: pack_into("<B", c, HEAD + 14, 0x0B),
    "deleted vectors": lambda c: pack_into("<Q", c, HEAD + 25, 1),
    "more vectors": lambda c: pack_into("<Q", c, HEAD + 17, 501),
    "a larger graph": lambda c: pack_into("<Q", c, HEAD + 64, 501),
    "many links": lambda c: pack_into("<Q", c, HEAD + 80, 1 << 40),
    "a level that none has": lambda c: pack_into("<Q", c, HEAD + 88, 40),
    "a begin outside": lambda c: pack_into("<Q", c, HEAD + 96, 500),
    "a level below 0": lambda c: pack_into("<h", c, HEAD + 104, -1),
    "another key": lambda c: pack_into("<Q", c, NODES, 7),
    "another level": lambda c: pack_into("<h", c, NODES + 8, 9),
    "more links than fit": lambda c: pack_into("<I", c, NODES + 10, 33),
    "a link outside": lambda c: pack_into("<I", c, NODES + 14, 500),
    "one byte more": lambda c: c.append(0),
    "one byte less": lambda c: c.pop(),
    "nothing": lambda c: c.clear(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_graph_is_refused_and_never_followed(damage: str) -> None:
    content = bytearray(build(VECTORS))
    check_graph(memoryview(content), 500, 16)
    DAMAGES[damage](content)
    with pytest.raises(BundleError, match="graph"):
        GraphIndex(memoryview(bytes(content)), STORED)


def test_a_link_to_a_vector_without_that_level_is_refused() -> None:
    content = bytearray(build(VECTORS))
    levels = np.frombuffer(content, "<i2", 500, HEAD + 104).astype(np.int64)
    node = int(np.flatnonzero(levels == 1)[0])
    lengths = 10 + 4 * 33 + levels * 4 * 17
    place = NODES + int(lengths[:node].sum()) + 10 + 4 * 33 + 4
    pack_into("<I", content, place, int(np.flatnonzero(levels == 0)[0]))
    with pytest.raises(BundleError, match="missing level"):
        GraphIndex(memoryview(bytes(content)), STORED)


def test_onnxruntime_can_be_imported_after_a_graph() -> None:
    pytest.importorskip("onnxruntime")
    code = """
import numpy as np
from ranklet.runtime.dense import graph
graph.build(np.eye(3, dtype=np.float32))
import onnxruntime
"""
    subprocess.run([sys.executable, "-c", code], check=True)
