"""The benchmark of Model 1 on several collections, on a tiny one."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.harness.place import Place
from benchmarks.quality import model1_collections
from benchmarks.quality.model1_collections import Tried, beginnings

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_every_collection_has_every_system(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny.data.collection.path
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "medquad").symlink_to(data)
    tried = Tried("medquad", learn="train[:60%]", held_out="train[60%:]", queries=12)
    monkeypatch.setattr(model1_collections, "TRIED", (tried,))
    monkeypatch.setattr(model1_collections, "PIECES", 5)
    monkeypatch.setattr(model1_collections, "wheel_folder", lambda: tiny.data.bert)
    place = Place(tmp_path / "data", tmp_path / "work")
    text = model1_collections.run(place)
    for system in (model1_collections.BASE, *model1_collections.RANKERS):
        assert sum(line.startswith(f"| {system} |") for line in text.splitlines()) == 1
    assert f"| {model1_collections.BEGINNINGS} |" in text
    assert "p_self" in text

    whole = {each.id: f"{each.title}\n{each.text}" for each in tiny.data.collection.documents()}
    for each in beginnings(place, tried).documents():
        assert each.title == ""
        assert whole[each.id].startswith(each.text)
        assert len(each.text) < len(whole[each.id])

    # What is kept is not made again.
    monkeypatch.setattr("ranklet.training.rankers.model1.training.train", None)
    assert model1_collections.run(place) == text
