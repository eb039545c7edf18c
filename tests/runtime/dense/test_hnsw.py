from pathlib import Path

import numpy as np
import pytest

from ranklet.runtime.dense.hnsw import HNSWIndex, build
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.errors import BundleError

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(500, 16)).astype(np.float32)
STORED = StoredVectors(VECTORS)


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 1), (500, 500), (9999, 500)])
def test_any_k_is_answered(k: int, count: int, tmp_path: Path) -> None:
    build(VECTORS, tmp_path / "index")
    hnsw = HNSWIndex(_read(tmp_path / "index"), STORED)
    numbers, scores = hnsw.search(VECTORS[0], k)
    assert len(numbers) == len(scores) == count
    assert (np.diff(scores) <= 0).all()


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


def test_an_index_of_another_collection_is_refused(tmp_path: Path) -> None:
    build(VECTORS, tmp_path / "index")
    with pytest.raises(BundleError, match="500 vectors"):
        HNSWIndex(_read(tmp_path / "index"), StoredVectors(np.zeros((501, 16), np.float32)))


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
