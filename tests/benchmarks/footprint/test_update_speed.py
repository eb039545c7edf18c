"""The benchmark compares the same change, made in two ways."""

from itertools import islice
from pathlib import Path

import pytest
from benchmarks.footprint.update_speed import COLLECTION, changed, exported, measured, pieces
from benchmarks.harness.place import Place

from ranklet.corpus.collections.collection import Document, write_collection


def test_a_share_of_the_passages_changes() -> None:
    assert [changed(count) for count in (10, 1_000, 100_000)] == [1, 3, 333]


@pytest.mark.slow
def test_both_ways_make_the_same_bundle(tmp_path: Path) -> None:
    documents = [Document(f"d{at}", "", f"mice and cats {at} " * 60) for at in range(3)]
    write_collection(tmp_path / COLLECTION, documents, {})
    count = 12
    passages = list(islice(pieces(Place(tmp_path, tmp_path)), count + changed(count)))
    assert len({passage.id for passage in passages}) == len(passages)
    folder = tmp_path / "work"
    folder.mkdir()
    times = measured(exported(folder, passages, model=False), passages, count, folder)
    assert min(times) > 0
    sizes = {
        name: len(list((folder / name).rglob("*.npy"))) for name in ("old", "updated", "scratch")
    }
    assert sizes["old"] == sizes["updated"] == sizes["scratch"] > 0
