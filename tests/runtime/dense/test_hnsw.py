from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.runtime.dense import hnsw as module
from ranklet.runtime.dense.hnsw import HNSWIndex, build
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.ground.errors import BundleError

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(500, 16)).astype(np.float32)
STORED = StoredVectors(VECTORS)
Opened = Callable[..., HNSWIndex]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Return what opens a graph of `VECTORS`."""
    path: Path = tmp_path_factory.mktemp("graph") / "index"
    build(VECTORS, path)
    return lambda ef=128: HNSWIndex(memoryview(path.read_bytes()), STORED, ef=ef)


def test_hnsw_finds_what_exact_search_finds_and_is_built_alike_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(VECTORS, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    hnsw = HNSWIndex(_read(tmp_path / "a"), STORED)
    exact, shared = ExactIndex(STORED), 0
    for query in RNG.normal(size=(50, 16)).astype(np.float32):
        wanted, scores = exact.search(query, 10)
        numbers, found = hnsw.search(query, 10)
        shared += len({*wanted.tolist()} & {*numbers.tolist()})
        np.testing.assert_allclose(found, VECTORS[numbers] @ query, atol=1e-4)
        assert found[0] == pytest.approx(scores[0], abs=1e-4)
    assert shared >= 0.98 * 500


def test_an_index_opens_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(VECTORS, tmp_path / "index")
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent/folder")
    assert len(HNSWIndex(_read(tmp_path / "index"), STORED).search(VECTORS[0], 5)[0]) == 5


def test_an_index_that_a_full_disk_cuts_is_no_success(tmp_path: Path) -> None:
    build(VECTORS, tmp_path / "index")
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OSError, match="No space left"):
            build(VECTORS, tmp_path / "other")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("damage", ["empty", "cut", "link", "count"])
def test_a_damaged_index_is_refused_and_never_followed(tmp_path: Path, damage: str) -> None:
    build(VECTORS, tmp_path / "index")
    content = bytearray((tmp_path / "index").read_bytes())
    if damage == "empty":
        content = bytearray()
    elif damage == "cut":
        del content[len(content) // 2 :]
    elif damage == "link":  # the first link of the first vector leads far out
        content[96 + 4 : 96 + 8] = b"\xff\xff\xff\x7f"
    else:  # the first vector claims more links than it has room for
        content[96 : 96 + 2] = b"\xff\xff"
    with pytest.raises(BundleError):
        HNSWIndex(memoryview(bytes(content)), STORED)


def _read(path: Path) -> memoryview:
    return memoryview(path.read_bytes())


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
