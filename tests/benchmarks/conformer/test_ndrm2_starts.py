"""NDRM2 from BM25 and from ones, on a miniature."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from ranklet.training.data.collection import Collection


@pytest.mark.slow
def test_both_starts_stand_next_to_bm25(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, conformers, starts, exporting = (
        import_module(name)
        for name in (
            "benchmarks.harness.place", "benchmarks.built.conformers",
            "benchmarks.conformer.ndrm2_starts",
            "ranklet.export.rankers.conformer_kernel.exporting",
        )
    )  # fmt: skip
    monkeypatch.setattr(exporting, "PROBES", (5, 16))
    monkeypatch.setattr(conformers, "HELD_OUT", "dev")
    (tmp_path / "data").mkdir()
    shutil.copytree(tiny_collection.path, tmp_path / "data" / "tiny")
    here = place.Place(tmp_path / "data", tmp_path / "work")
    first = conformers.Conformers(
        here, "tiny", titles=True, steps=(("ndrm2", 1),), queries=30, tuning=8, batch=8, every=1
    )
    page = starts.section(first, seeds=(0, 1))
    rows = {line.split(" | ")[0][2:]: line for line in page.splitlines() if line.startswith("| ")}
    assert {starts.TUNED, starts.UNTUNED, *starts.STARTS} < set(rows)
    assert rows[starts.UNTUNED].endswith("|  | 0.90 | 0.40 |")
    # One step hardly moves the start, which is the BM25 that gives negatives.
    bm25 = first.bm25()
    begun = starts.learned_constants(first.checkpoint("ndrm2"))
    assert begun == pytest.approx((bm25.k1, bm25.b), abs=0.25)
    assert (here.work / f"{first.name}.ndrm2.1.ones.1").is_dir()
