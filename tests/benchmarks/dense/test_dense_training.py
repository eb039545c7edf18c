"""A goal is met only by a gain that is significant."""

import numpy as np
import pytest

dense_training = pytest.importorskip("benchmarks.dense.dense_training")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")


def studied(gain: float) -> object:
    """Return a study in which training gains so much, and fusing as much again."""
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, 200)
    steps = {
        dense_training.BASE: 0.0,
        dense_training.START: 0.0,
        dense_training.HYBRID: 0.01,
        dense_training.TRAINED: gain,
        dense_training.FUSED: 2 * gain,
        dense_training.AVERAGED: gain / 2,
    }
    values = {
        name: {dense_training.RANKED_BY: base + step + rng.normal(0, 0.05, 200)}
        for name, step in steps.items()
    }
    return comparing.Studied(10, 200, 20, [], values, {})


def test_a_gain_meets_the_goals() -> None:
    lines = dense_training.goals({"qa-mix": studied(0.1)})
    assert len(lines) == 5
    assert all(line.endswith(", met.") for line in lines)


def test_averaging_is_compared_with_both() -> None:
    found = {"qa-mix": studied(0.1), "medquad": studied(0.0)}
    one, other = dense_training.averaging(found).splitlines()[2:]
    *_, gain, loss = one.strip("| ").split(" | ")
    assert gain.startswith("+0.0")
    assert gain.endswith("‡")
    assert loss.startswith("-0.0")
    assert loss.endswith("‡")
    assert "‡" not in other


def test_a_loss_or_noise_misses_them() -> None:
    for gain in (-0.1, 0.0005):
        lines = dense_training.goals({"qa-mix": studied(gain), "medquad": studied(gain)})
        strict = [line for line in lines if "p < .01" in line]
        assert len(strict) == 4
        assert all("**missed**" in line for line in strict)
