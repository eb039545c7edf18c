"""Weights of a fusion are learned, or cross-validated where networks rescore."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import TinyRankers

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.export.fusion import fuse_bundle, learn_weights
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import RankletError
from ranklet.runtime.pipeline import SCALINGS, Fuse, Pipeline

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.fixture
def path(tiny: TinyRankers) -> Path:
    return tiny.indexed("cross_encoder")


def test_alpha_is_cross_validated_and_stored_in_a_pipeline(
    path: Path, tiny_collection: Collection, tmp_path: Path
) -> None:
    target = tmp_path / "interpolated"
    arguments = ["fuse", str(path), str(tiny_collection.path), "-o", str(target), "--split", "dev"]
    assert main([*arguments, "--rankers", "bm25,cross", "--folds", "3"]) in (0, 3)
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
        ({"scaling": "max"}, "scaling is 'max'; allowed are fixed, variance, minmax"),
        ({"folds": 1}, "folds is 1"),
        ({"folds": 1000}, "folds is 1000"),
        ({"target": tmp_path / "taken"}, "taken"),
    ):
        options: dict[str, Any] = {"target": tmp_path / "new", "rankers": two, **wrong}
        with pytest.raises(RankletError, match=message):
            fuse_bundle(path, options.pop("target"), queries, **options)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("measure", ["MRR@10", "nDCG@10"])
def test_what_fuse_prints_is_what_eval_measures(
    built: "Built", tmp_path: Path, capsys: pytest.CaptureFixture[str], scaling: str, measure: str
) -> None:
    target, collection = str(tmp_path / "fused"), str(built.collection.path)
    rankers = ["--rankers", "bm25,bm25_pieces,model1", "--split", "train"]
    options = [*rankers, "--scaling", scaling, "--measure", measure, "--name", "mixed"]
    # 41 queries are too few to be sure of a gain.
    assert main(["fuse", str(built.indexed), collection, "-o", target, *options]) == 3
    out, err = capsys.readouterr()
    assert "weights bm25 0." in out
    assert "before: 0." in out
    assert "the gain is not sure" in err
    printed = out.split(f"{measure} ")[1].split(" ")[0]
    options = ["--split", "train", "--pipelines", "mixed", "--measures", measure]
    assert main(["eval", target, collection, *options]) == 0
    (row,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("mixed"))
    assert row.split()[1] == printed
    fuse = load(target, device="cpu").manifest.pipelines["mixed"].stages[-1]
    assert isinstance(fuse, Fuse)
    assert fuse.scaling == scaling


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_held_out_value_is_that_of_the_pipelines_of_the_folds(
    built: "Built", tmp_path: Path, scaling: str
) -> None:
    queries, rankers = read_split(built.collection, "train"), ("bm25", "model1")
    target = tmp_path / "fused"
    found = fuse_bundle(built.indexed, target, queries, rankers=rankers, folds=3, scaling=scaling)
    bundle = Bundle(target)
    *lists, _ = bundle.manifest.pipelines["linear"].stages
    fold_of, values = np.random.default_rng(0).permutation(len(queries)) % 3, np.zeros(len(queries))
    for fold, alpha in enumerate(found.history[0]):
        fuse = Fuse("linear", rankers, (alpha, 1 - alpha), scaling=scaling)
        pipelines = {"fold": Pipeline((*lists, fuse))}
        (served,) = evaluate(bundle, queries, pipelines, measures=["MRR@10"])
        values[fold_of == fold] = served.values["MRR@10"][fold_of == fold]
    assert found.value == pytest.approx(values.mean(), abs=1e-9)


def test_scalings_over_the_candidates_are_learned_from_as_many_as_are_served(
    built: "Built", tmp_path: Path
) -> None:
    queries, rankers = read_split(built.collection, "train"), ("bm25", "model1")
    options: dict[str, Any] = {"rankers": rankers, "scaling": "variance"}
    found = fuse_bundle(built.indexed, tmp_path / "fused", queries, depth=4, **options)
    wanted = learn_weights(Bundle(built.indexed), rankers, queries, depth=4, scaling="variance")
    assert (found.weights, found.history) == (wanted.weights, wanted.history)
    assert found.value == pytest.approx(wanted.value, abs=1e-9)
    fusions = BundleFiles(tmp_path / "fused").manifest.provenance["fusion linear"]
    assert (fusions["scaling"], fusions["value"]) == ("variance", found.value)
