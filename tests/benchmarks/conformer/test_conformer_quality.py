"""The Conformer-Kernel's benchmarks run end to end on a tiny collection, as they do on a large."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split

STEPS = (("ndrm1", 2), ("ndrm2", 2), ("ndrm3", 2), ("tk", 2), ("tkl", 2))


@pytest.mark.slow
def test_the_tables_are_made_and_what_is_kept_is_found_again(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gensim")
    place, conformers, quality, impacts, exporting = (
        import_module(name)
        for name in (
            "benchmarks.harness.place", "benchmarks.built.conformers",
            "benchmarks.conformer.conformer_quality", "benchmarks.conformer.conformer_impacts",
            "ranklet.export.rankers.conformer_kernel.exporting",
        )
    )  # fmt: skip
    monkeypatch.setattr(exporting, "PROBES", (5, 16))
    monkeypatch.setattr("ranklet.export.rankers.tk.PROBES", (5, 8))
    monkeypatch.setattr(conformers, "HELD_OUT", "dev")
    (tmp_path / "data").mkdir()
    shutil.copytree(tiny_collection.path, tmp_path / "data" / "tiny")
    here = place.Place(tmp_path / "data", tmp_path / "work")
    given: dict[str, Any] = {"steps": STEPS, "queries": 30, "tuning": 8, "batch": 8}
    networks = conformers.Conformers(
        here, "tiny", titles=True, hidden=16, heads=4, groups=4, every=5, **given
    )
    page = quality.section(networks, few=8)
    for system in (*quality.without_network(), *quality.with_network()):
        assert f"| {system} |" in page
    assert "NDRM3, fullrank against NDRM1, fullrank" in page
    assert "0 above theirs" in page  # impacts against PyTorch, term by term

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(conformers.conformer_kernel, "train", refused)
    path = quality.bundle_of(networks)
    queries = read_split(tiny_collection, "dev")
    for form in impacts.FORMS:
        found = impacts.section(BundleFiles(path), form, queries[:9], queries[9:], most=20)
        assert f"### {form.upper()}: 20 documents" in found
        assert "9 held-out queries of train:" in found
        assert "7 dev queries:" in found
        rows = [line for line in found.splitlines() if line.startswith("|")]
        # head, network, network cut, as made, floors, candidates, own terms, kept, stored
        chosen = 2 + 1 + 3 + 1 + 3 + 2 + 1 + 4 + 2
        assert len(rows) == chosen + 2 + 1 + 1 + 3  # head, network, as made, floors
        for table in (rows[:chosen], rows[chosen:]):
            assert "| 100.0% |" in table[2]  # the network is its own reference
            assert [row.split("|")[3].strip() == "" for row in table[2:]].count(True) == 1
    whole = impacts.over_all(networks, limit=8)
    assert "### All " in whole
    for floor in ("0%", "25%"):
        assert f"| NDRM1, floor at {floor} |" in whole
        assert f"| NDRM3, floor at {floor} |" in whole
    # Other steps are another training, and titles another BM25.
    other = conformers.Conformers(here, "tiny", **{**given, "steps": (("ndrm2", 9),)})
    with pytest.raises(AssertionError, match="trained again"):
        other.checkpoint("ndrm2")
    assert (here.work / "tiny.untitled.bm25").is_dir()
    assert (here.work / "tiny.bm25").is_dir()
