"""Each seed has its own networks, and the mean of all is compared with what is not trained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

training_seeds = pytest.importorskip("benchmarks.quality.training_seeds")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
harness = pytest.importorskip("benchmarks.harness.place")
HALF = np.full(100, 0.5)


def studied(values: dict[str, NDArray[np.float64]]) -> Any:
    """Return a study with values of some systems."""
    named = {name: {training_seeds.RANKED_BY: each} for name, each in values.items()}
    return comparing.Studied(10, 100, 20, [], named, {})


def measured(gains: tuple[float, ...]) -> Any:
    """Return google-wiki with seeds whose fusion gains so much, and whose encoder gains nothing."""
    alone, fused = training_seeds.GOOGLE_WIKI.against
    rng = np.random.default_rng(2)
    base = studied(dict.fromkeys(training_seeds.GOOGLE_WIKI.against.values(), HALF))
    seeds = {
        seed: studied({alone: HALF, fused: HALF + gain + rng.normal(0, 0.01, 100)})
        for seed, gain in enumerate(gains)
    }
    return training_seeds.Measured(base, seeds)


def test_the_mean_of_the_seeds_is_tested_and_not_one_of_them() -> None:
    pytest.importorskip("scipy")
    found = measured((0.3, -0.3))
    lines = training_seeds.by_seed(found, training_seeds.GOOGLE_WIKI.against).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert rows[0][1:4] == ["seed 0", "seed 1", "mean"]
    alone, fused = rows[2:]
    assert alone[1:4] == ["0.5000"] * 3
    assert float(fused[1]) == pytest.approx(0.8, abs=0.01)
    assert float(fused[2]) == pytest.approx(0.2, abs=0.01)
    assert fused[5].startswith(("+0.00", "-0.00"))  # though each seed alone is far from its base
    assert "p = " in fused[5]
    assert "100 queries of dev" in training_seeds.section([(training_seeds.GOOGLE_WIKI, found)])


@pytest.mark.parametrize("at", range(2))
def test_no_seed_shares_its_networks_with_another(at: int) -> None:
    place, case = harness.Place(Path("data"), Path("work")), training_seeds.CASES[at]
    scopes = [case.scope(place, seed) for seed in training_seeds.SEEDS]
    assert len({each.parts for each in scopes}) == len(scopes)
    for name in case.seeded:
        drawn = {each.rankers[name].learn.keywords["seed"] for each in scopes}
        assert drawn == set(training_seeds.SEEDS)
    assert all(list(each.rankers) == ["bm25", "model1", *case.seeded] for each in scopes)
