"""Each seed is compared with the untrained encoder and hybrid, and so is the mean of all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

own_seeds = pytest.importorskip("benchmarks.dense.own_seeds")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
harness = pytest.importorskip("benchmarks.harness.place")
HALF = np.full(100, 0.5)


def studied(values: dict[str, NDArray[np.float64]]) -> Any:
    """Return a study with values of some systems."""
    named = {name: {own_seeds.RANKED_BY: each} for name, each in values.items()}
    return comparing.Studied(10, 100, 20, [], named, {})


def test_seeds_are_tested_one_by_one_and_as_their_mean() -> None:
    pytest.importorskip("scipy")
    rng = np.random.default_rng(2)
    base = studied(dict.fromkeys((own_seeds.BASE, own_seeds.START, own_seeds.HYBRID), HALF))
    seeds = {
        seed: studied(
            {own_seeds.LEARNED: HALF, own_seeds.FUSED: HALF + gain + rng.normal(0, 0.01, 100)}
        )
        for seed, gain in enumerate((0.3, -0.3))
    }
    rows = [row.strip("| ").split(" | ") for row in own_seeds.by_seed(base, seeds).splitlines()[2:]]
    assert [row[0] for row in rows] == ["0", "1", "mean"]
    assert all(row[1] == "0.5000" for row in rows)
    gains = [row[4] for row in rows]
    assert gains[0].startswith(("+0.29", "+0.30"))
    assert gains[1].startswith(("-0.29", "-0.30"))
    assert gains[2].startswith(("+0.00", "-0.00"))
    assert "all 100 dev queries" in own_seeds.section(base, seeds)


def test_no_seed_shares_its_encoder_with_another() -> None:
    place = harness.Place(Path("data"), Path("work"))
    scopes = [own_seeds.with_own(place, seed) for seed in own_seeds.SEEDS]
    assert len({each.parts for each in scopes}) == len(scopes)
    assert all(set(each.rankers) == {"bm25", "model1", "own"} for each in scopes)
    assert {each.rankers["own"].learn.keywords["seed"] for each in scopes} == set(own_seeds.SEEDS)
