"""Weights of a fusion are learned, or cross-validated where networks rescore."""

from pathlib import Path
from typing import Any

import pytest
from tests.kinds import TinyRankers

from ranklet.commands import main
from ranklet.export.fusion import fuse_bundle
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import RankletError
from ranklet.runtime.pipeline.stages import Fuse
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split


@pytest.fixture
def path(tiny: TinyRankers) -> Path:
    return tiny.indexed("cross_encoder")


def test_alpha_is_cross_validated_and_stored_in_a_pipeline(
    path: Path, tiny_collection: Collection, tmp_path: Path
) -> None:
    target = tmp_path / "interpolated"
    arguments = ["fuse", str(path), str(tiny_collection.path), "-o", str(target), "--split", "dev"]
    assert main([*arguments, "--rankers", "bm25,cross", "--folds", "3"]) == 0
    stages = load(target, device="cpu").manifest.pipelines["linear"].stages
    assert [str(each).split(" by ")[0] for each in stages[:2]] == ["retrieve 100", "rescore"]
    assert isinstance(stages[2], Fuse)
    assert sum(stages[2].weights) == pytest.approx(1)
    provenance = BundleFiles(target).manifest.provenance["fusion linear"]
    assert provenance["folds"] == len(provenance["alphas"]) == 3


def test_what_is_wrong_with_a_fusion_is_refused_before_it_scores(
    path: Path, tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(*_: object, **__: object) -> None:
        raise AssertionError("scored first")

    monkeypatch.setattr(Bundle, "features", scored)
    (tmp_path / "taken").mkdir()
    queries = read_split(tiny_collection, "dev")
    two = ("bm25", "cross")
    for wrong, message in (
        ({"measure": "MAP"}, "MAP"),
        ({"folds": 1}, "folds is 1"),
        ({"folds": 1000}, "folds is 1000"),
        ({"target": tmp_path / "taken"}, "taken"),
    ):
        options: dict[str, Any] = {"target": tmp_path / "new", "rankers": two, **wrong}
        with pytest.raises(RankletError, match=message):
            fuse_bundle(path, options.pop("target"), queries, **options)
