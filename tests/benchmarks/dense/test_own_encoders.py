"""Encoders of several seeds are compared, by their mean, with what is not trained."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

own_encoders = pytest.importorskip("benchmarks.dense.own_encoders")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
pipelines = pytest.importorskip("benchmarks.all_systems.pipelines")
harness = pytest.importorskip("benchmarks.harness.place")
HALF = np.full(100, 0.5)


def studied(values: dict[str, NDArray[np.float64]]) -> Any:
    """Return a study with values of some systems, of which the best fusion was chosen."""
    named = {name: {own_encoders.RANKED_BY: each} for name, each in values.items()}
    first = pipelines.Pipeline((pipelines.Retrieve("bm25", 9),))
    reads = pipelines.Reads.QUERY
    systems = [
        pipelines.System(each, first, reads, "0.5 · BM25" if each == own_encoders.FUSED else "")
        for each in values
    ]
    return comparing.Studied(10, 100, 20, systems, named, {})


def measured(gains: tuple[float, ...]) -> Any:
    """Return a collection with seeds whose fusion gains so much, and whose encoder gains .1."""
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.01, 100)
    base = studied(
        {
            own_encoders.START: HALF,
            own_encoders.QA_MIX: HALF - 0.1 + noise,
            own_encoders.HYBRID: HALF,
        }
    )
    seeds = {
        seed: studied(
            {
                own_encoders.OWN: HALF + 0.1 + noise,
                own_encoders.FUSED: HALF + gain + rng.normal(0, 0.01, 100),
            }
        )
        for seed, gain in enumerate(gains)
    }
    return own_encoders.Measured(base, seeds, np.arange(100) < 20)


def cells(line: str) -> list[str]:
    """Return the cells of a row."""
    return line.strip("| ").split(" | ")


def test_the_mean_of_the_seeds_is_tested_and_not_one_of_them() -> None:
    lines = own_encoders.by_seed({"scifact": measured((0.3, -0.3))}).splitlines()
    head, own, fused = cells(lines[0]), *map(cells, lines[2:])
    assert head[2:5] == ["seed 0", "seed 1", "mean"]
    assert float(own[4]) == pytest.approx(0.6, abs=0.01)
    assert float(fused[2]) == pytest.approx(0.8, abs=0.01)
    assert float(fused[3]) == pytest.approx(0.2, abs=0.01)
    assert fused[7].startswith(("+0.00", "-0.00"))  # though each seed alone is far from its base
    assert "p = " in fused[7]


def test_an_encoder_is_compared_with_the_untrained_and_with_that_of_others_queries() -> None:
    page = own_encoders.section({"scifact": measured((0.2, 0.1))})
    gain = next(line for line in page.splitlines() if line.startswith("| scifact | 0.5000 |"))
    over_untrained, over_qa_mix = cells(gain)[-2:]
    assert over_untrained.startswith("+0.")
    assert over_qa_mix.startswith("+0.2")
    assert over_untrained.endswith("‡")
    assert over_qa_mix.endswith("‡")
    assert "| 20, 80 |" in page  # queries whose relevant documents were learned from, and others


def test_no_seed_shares_its_networks_with_another() -> None:
    place = harness.Place(Path("data"), Path("work"))
    for name, study in own_encoders.COLLECTIONS.items():
        scopes = [own_encoders.seeded(place, name, study, seed) for seed in own_encoders.SEEDS]
        assert len({each.parts for each in scopes}) == len(scopes)
        drawn = [each.rankers["own"].learn.keywords["seed"] for each in scopes]
        assert drawn == list(own_encoders.SEEDS)
        assert all(list(each.rankers_of(name)) == ["bm25", "model1", "own"] for each in scopes)


def test_collections_learn_from_queries_that_choose_nothing() -> None:
    for study in own_encoders.COLLECTIONS.values():
        learn, held_out = study.learn, study.held_out
        assert learn.split(":")[1].rstrip("]") == held_out.split("[")[1].rstrip(":]")


@pytest.mark.slow
def test_a_tiny_collection_is_measured(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = pytest.importorskip("benchmarks.all_systems.studies")
    monkeypatch.setattr("ranklet.export.proof.variants.FAITHFUL", 0.0)
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "tiny")
    study = studies.Study(
        "tiny", learn="train", held_out="train", encoder="tiny", choosing=9, queries=6
    )

    def learn(*_: Any, seed: int = 0) -> Any:
        return tiny.checkpoint("dense", similarity="cosine" if seed else "dot")

    rankers = {
        name: replace(each, learn=(lambda kind: lambda *_: tiny.checkpoint(kind))(each.kind))
        for name, each in own_encoders.RANKERS.items()
    }
    monkeypatch.setattr(own_encoders, "RANKERS", rankers)
    monkeypatch.setattr(own_encoders, "own_dense", learn)
    place = harness.Place(tmp_path / "data", tmp_path / "work")
    found = own_encoders.measured(place, "tiny", study, seeds=(0, 1))
    page = own_encoders.section({"tiny": found})
    assert page.count(f"| tiny | {own_encoders.OWN} |") == 1
    assert "| collection | seed | chosen |" in page
