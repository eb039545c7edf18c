"""The benchmarks of EPIC, end to end on a tiny collection: they run for long, and unattended."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.runtime.lexical.sparse_store import SparseStore, prune, store_of_rows
from ranklet.training.data.collection import Collection

pytest.importorskip("matplotlib", reason="of extra [bench]")
trained = pytest.importorskip("benchmarks.built.trained")
epic_quality = pytest.importorskip("benchmarks.quality.epic_quality")
epic_speed = pytest.importorskip("benchmarks.speed.epic_speed")
place = pytest.importorskip("benchmarks.harness.place")

SHORT = {"batch": 8, "max_query_tokens": 12, "max_document_tokens": 16}


def test_pruning_further_is_pruning_at_once() -> None:
    rng = np.random.default_rng(0)
    vectors = np.stack([rng.permutation(60) for _ in range(20)]).astype(np.float32) - 9
    vectors[3] = -1  # without a value
    priorities = rng.uniform(1, 3, 60).astype(np.float32)
    whole = store_of_rows(prune(vectors, 60))
    for kept in (1, 7, 60, 99):
        found = epic_quality.further(whole, kept, priorities)
        wanted = store_of_rows(prune(vectors, kept, priorities))
        np.testing.assert_array_equal(found.offsets, wanted.offsets)
        np.testing.assert_array_equal(found.terms, wanted.terms)
        np.testing.assert_array_equal(found.values, wanted.values)


def test_equal_values_do_not_exceed_the_number_kept() -> None:
    equal = SparseStore(np.array([0, 3]), np.array([2, 5, 9], np.uint16), np.ones(3, np.float16))
    assert epic_quality.further(equal, 2, np.ones(10, np.float32)).terms.tolist() == [2, 5]


def test_missing_peers_are_reported_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(epic_speed, "find_spec", lambda module: None)
    with pytest.raises(ModuleNotFoundError, match=r"pyseismic-lsr, bm25s, numba: not installed"):
        epic_speed.run(place.Place(tmp_path / "none", tmp_path / "work"))


@pytest.fixture(scope="module")
def tiny_place(tiny_collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, split in (("qa-mix", "dev"), ("scifact", "test")):
        shutil.copytree(tiny_collection.path, folder / "data" / name)
        if split != "dev":
            for path in (folder / "data" / name).glob("*.dev.*"):
                path.rename(path.with_name(path.name.replace(".dev.", f".{split}.")))
    return place.Place(folder / "data", folder / "work")


@pytest.fixture
def tiny_training(monkeypatch: pytest.MonkeyPatch, tiny_bert: Path) -> None:
    train = trained.epic.train

    def short(*given: Any) -> Any:
        *data, options = given
        backbone = None if options.start else tiny_bert
        return train(
            *data, replace(options, backbone=backbone, steps=None, epochs=2, device="cpu", **SHORT)
        )

    monkeypatch.setattr(trained.epic, "train", short)


@pytest.mark.slow
def test_quality_and_speed_run_to_their_end(
    tiny_training: None, tiny_place: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(epic_quality, "PICTURE", tmp_path / "curve.png")
    found = epic_quality.run(tiny_place)
    assert (tmp_path / "curve.png").is_file()
    assert "| unpruned |" in found
    assert found.count("- Goal: ") == 3
    rows = [line.split("|") for line in found.splitlines() if line.count("|") == 12]
    assert [row[1].strip() for row in rows[2:]] == [
        "50", "100", "200", "500", "1000", "2000", "5000", "unpruned"
    ]  # fmt: skip
    assert not list(tiny_place.work.glob("*.state"))
    pytest.importorskip("seismic", reason="of extra [bench]")
    monkeypatch.setattr(epic_speed, "QUERIES", 3)
    monkeypatch.setattr(epic_speed, "ROUNDS", 1)
    monkeypatch.setattr(epic_speed, "DEPTHS", (5, 20))
    found = epic_speed.run(tiny_place)
    assert "r = 200, top 5 |" in found
    assert "r = 1000, top 20 |" in found
    assert found.count("Seismic, query_cut 4,") == 2  # of r = 200 only


@pytest.mark.slow
def test_an_interrupted_training_is_resumed(
    tiny_training: None, tiny_place: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = place.Place(tiny_place.data, tmp_path)
    train = trained.epic.train
    calls = []

    def interrupted(*given: Any) -> Any:
        *data, options = given
        calls.append(options.resume)
        if len(calls) > 1:
            return train(*given)
        train(*data, replace(options, save_every=1))
        raise KeyboardInterrupt

    monkeypatch.setattr(trained.epic, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained.qa_mix_epic(here)
    assert list(tmp_path.glob("*.state"))
    assert trained.qa_mix_epic(here).training["stopped_by"] == "epochs"
    assert calls == [False, True]
    assert not list(tmp_path.glob("*.state"))
