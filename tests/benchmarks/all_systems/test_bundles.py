"""What is kept of a study fits its own passages and texts."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime.bundles.files import BundleFiles

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

bundles = pytest.importorskip("benchmarks.all_systems.bundles")
place = pytest.importorskip("benchmarks.harness.place")
rankers = pytest.importorskip("benchmarks.all_systems.rankers")
studies = pytest.importorskip("benchmarks.all_systems.studies")


@pytest.mark.slow
def test_a_collection_that_is_cut_anew_is_indexed_again(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "tiny")
    study = studies.Study("tiny", held_out="train", passages=1, queries=2, choosing=2)
    bm25 = replace(rankers.RANKERS["bm25"], learn=lambda *_: tiny.checkpoint("bm25"))
    here = place.Place(tmp_path / "data", tmp_path / "work")

    def documents(**changes: Any) -> int:
        scope = bundles.Scope(here, {"tiny": replace(study, **changes)}, {"bm25": bm25})
        return BundleFiles(bundles.bundle_of(scope, "tiny")).manifest.documents

    cut, whole = documents(), documents(passages=0)
    assert cut < whole
    assert documents() == cut

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(bundles, "index_bundle", refused)
    assert documents() == cut
    with pytest.raises(AssertionError, match="made again"):
        documents(titles=False)
