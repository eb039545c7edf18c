"""An encoder that learned from a collection's own queries is compared with both others."""

from typing import Any

import numpy as np
import pytest

own_encoders = pytest.importorskip("benchmarks.dense.own_encoders")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
pipelines = pytest.importorskip("benchmarks.all_systems.pipelines")

ENCODERS = (own_encoders.START, own_encoders.TRAINED, own_encoders.LEARNED)


def studied(gain: float) -> Any:
    """Return a study in which the collection's own queries add so much to the untrained encoder."""
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, 200)
    above = {own_encoders.START: 0.0, own_encoders.TRAINED: -0.1, own_encoders.LEARNED: gain}
    values = {
        name: {comparing.RANKED_BY: base + step + rng.normal(0, 0.05, 200)}
        for name, step in above.items()
    }
    return comparing.Studied(10, 200, 20, [], values, {})


def test_the_gain_of_each_collection_is_tested() -> None:
    found = {"scifact": studied(0.1), "google-wiki": studied(0.0)}
    better, level = own_encoders.gains(found, ENCODERS).splitlines()[2:]
    *_, over_untrained, over_qa_mix = better.strip("| ").split(" | ")
    assert over_untrained.startswith("+0.")
    assert over_untrained.endswith("‡")
    assert over_qa_mix.endswith("‡")
    *_, over_untrained, over_qa_mix = level.strip("| ").split(" | ")
    assert "‡" not in over_untrained
    assert over_qa_mix.endswith("‡")


def test_both_collections_learn_from_queries_that_choose_nothing() -> None:
    studies = pytest.importorskip("benchmarks.all_systems.studies").STUDIES
    for name in own_encoders.COLLECTIONS:
        learn, held_out = studies[name].learn, studies[name].held_out
        assert learn.split(":")[1].rstrip("]") == held_out.split("[")[1].rstrip(":]")


def test_each_encoder_may_stand_next_to_bm25_and_model_1() -> None:
    tried = pipelines.candidates(pipelines.Reads.QUERY, own_encoders.USED)
    members = {each.members for each in tried if each.method == "linear"}
    for encoder in ("minilm", "dense", "own"):
        assert {("bm25", encoder), ("bm25", "model1", encoder)} <= members
