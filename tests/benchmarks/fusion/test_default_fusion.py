"""The verdicts on the default fusion follow from the values of each query."""

import numpy as np
from benchmarks.fusion.default_fusion import (
    DEFAULT,
    MEANING,
    MEASURED,
    MEASURES,
    RANKS,
    WORDS,
    Values,
    against,
    each_collection,
    means,
    verdicts,
)


def values(**ndcg: float) -> Values:
    """Return values of thirty queries that vary a little around a mean, by system."""
    names = {
        "words": WORDS, "meaning": MEANING, "ranks": RANKS, "before": MEASURED, "default": DEFAULT,
    }  # fmt: skip
    spread = np.linspace(-0.01, 0.01, 30)
    noise = {name: np.roll(spread, at) for at, name in enumerate(ndcg)}
    return {names[name]: dict.fromkeys(MEASURES, mean + noise[name]) for name, mean in ndcg.items()}


GOOD = values(words=0.4, meaning=0.5, ranks=0.5, before=0.5, default=0.55)
BAD = values(words=0.4, meaning=0.6, ranks=0.55, before=0.5, default=0.5)


def test_a_default_above_its_halves_and_ranks_meets_all_goals() -> None:
    assert verdicts({"a": GOOD, "b": GOOD}).count(": met") == 3


def test_a_default_below_its_better_half_misses_all_goals() -> None:
    found = verdicts({"a": BAD, "b": BAD})
    assert found.count("**missed**") == 3
    assert "a (-0.100), b (-0.100)" in found


def test_the_tables_say_where_a_system_is_better() -> None:
    both = {"a": GOOD, "b": BAD}
    assert against(both, DEFAULT, RANKS) == ["+0.000", "1 of 2", "1 / 1"]
    assert f"| {DEFAULT} | 0.525 |" in means(both)
    assert "| a | 0.400 | 0.500 | 0.500 | 0.500 | 0.550 | 0.57 | +0.050" in each_collection(
        both, {"a": "0.57", "b": "0.5"}
    )
