"""The benchmark in miniature: three collections, all figures and the tables."""

import json
from pathlib import Path

import pytest
from benchmarks.growth import depths, sizes
from benchmarks.growth.growth import report
from benchmarks.growth.processes import size
from benchmarks.growth.synthetic import learned
from benchmarks.harness.place import Place

from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.export.bundles import export_bundle
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.model1 import training as model1
from ranklet.training.rankers.model1.options import Options

pytest.importorskip("tantivy", reason="of extra [bench]")
pytest.importorskip("bm25s", reason="of extra [bench]")

REAL = [f"the cat{at % 40} and a dog{at % 60} run on road{at % 90} of stone" for at in range(300)]


def trained(folder: Path) -> Path:
    """Return a bundle with BM25 and Model 1, without a collection."""
    documents = [Document(f"d{at}", "", text) for at, text in enumerate(REAL[:60])]
    queries = [Query(f"q{at}", f"cat{at} dog{at}") for at in range(20)]
    splits = {"train": (queries, {each.id: {f"d{at}": 1} for at, each in enumerate(queries)})}
    collection = write_collection(folder / "c", documents, splits)
    judged = read_split(collection, "train")
    checkpoints = {
        "bm25": Checkpoint("bm25", BM25Settings()),
        "model1": model1.train(collection, judged, judged, Options()),
    }
    return Path(export_bundle(checkpoints, folder / "rankers"))


@pytest.mark.slow
def test_growth_is_measured_and_tabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (sizes, "QUESTIONS", 3),
        (sizes, "ROUNDS", 1),
        (sizes, "STARTS", 1),
        (sizes, "KEPT", 150),
        (sizes, "BM25S_MOST", 150),
        (depths, "QUESTIONS", 3),
        (depths, "ROUNDS", 1),
        (depths, "CANDIDATES", (10, 100)),
        (depths, "LENGTHS", (64,)),
        (depths, "DEPTH", 50),
    ):
        monkeypatch.setattr(module, name, value)
    model, found = learned(REAL, 2_000), []
    for count in (100, 200):
        sizes.measure(model, count, tmp_path, tmp_path / "figures.json")
        found.append(json.loads((tmp_path / "figures.json").read_text()))
    assert not (tmp_path / "growth.200.ranklet").exists()
    assert not (tmp_path / "growth.100.csv").exists()
    first = found[0]
    assert first["bundle"] == size(tmp_path / "growth.100.ranklet")
    assert sum(first["parts"].values()) == pytest.approx(first["bundle"], abs=20_000)
    assert first["build"]["resident"] >= first["build"]["private"] > 10
    assert first["tantivy"]["bytes"] > 0
    assert first["tantivy"]["p99"] >= first["tantivy"]["p50"] > 0
    assert first["bm25s"]["bytes"] > first["bm25s"]["index"] > 0
    assert "bm25s" not in found[1]

    depths.measure(
        model, trained(tmp_path), tmp_path, tmp_path / "d.json", passages=300, documents=100
    )
    by_depth = json.loads((tmp_path / "d.json").read_text())
    assert list(by_depth["candidates"]) == ["10", "100"]
    write_collection(tmp_path / "real", [Document("d", "a title", "some text")], {})
    sizes.measure_real(Place(tmp_path, tmp_path), "real", tmp_path / "real.json")
    page = report(found, by_depth, json.loads((tmp_path / "real.json").read_text()))
    assert "build of google-wiki, of tantivy's time" in page
    assert "| 200 |" in page
    assert "| 64 words of a document |" in page
