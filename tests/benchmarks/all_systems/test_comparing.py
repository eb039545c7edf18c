"""Marks, intervals and goals."""

import numpy as np
from benchmarks.all_systems import comparing
from benchmarks.all_systems.comparing import Studied
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID, System
from benchmarks.all_systems.studies import BM25, HARD, QA_MIX, Reads
from numpy.typing import NDArray

from ranklet.corpus.evaluation.systems import MEASURES
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve

QUERIES = 200


def studied(gains: dict[str, float]) -> Studied:
    """Return systems whose values are above or below BM25's by some amount, with noise."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, QUERIES)
    recipe = Pipeline((Retrieve(BM25, 10),))
    systems = [System(BASE, recipe, Reads.NOTHING)]
    values: dict[str, NDArray[np.float64]] = {BASE: base}
    for name, gain in gains.items():
        told = "chosen" if name in BEST.values() else ""
        systems.append(System(name, recipe, Reads.NOTHING, told))
        values[name] = base + gain + rng.normal(0, 0.05, QUERIES)
    by_measure = {name: dict.fromkeys(MEASURES, own) for name, own in values.items()}
    return Studied(9, QUERIES, 5, systems, by_measure)


def test_marks_say_what_differs_from_what_and_in_which_direction() -> None:
    best = BEST[Reads.QUERY]
    found = studied({HYBRID: 0.1, "worse": -0.1, "same": 0.0, best: 0.2})
    signs = comparing.marks(found, MEASURES[0])
    assert signs == {BASE: "", HYBRID: "‡", "worse": "−‡", "same": "", best: "‡**"}
    tested = comparing.p_holm(found, MEASURES[0], HYBRID)
    assert list(tested) == [best]  # only what was chosen is compared with the hybrid


def test_goals_are_met_or_missed() -> None:
    none, one, last = (BEST[each] for each in Reads)
    found = {
        QA_MIX: studied({HYBRID: 0.1, none: 0.05, one: 0.1, last: 0.01}),
        HARD: studied({HYBRID: 0.1, none: 0.2, one: 0.3, last: 0.3}),
    }
    lines = comparing.goals(found)
    verdicts = ["missed" if "**missed**" in line else "met" for line in lines]
    # On qa-mix the pipeline with an encoder is not above the hybrid.
    assert verdicts == ["met", "met", "missed", "met", "missed"]
    assert f"{HARD}, MRR@10 ≥ 1.25 × BM25's" in lines[0]
    assert "above BM25 on all collections" in lines[3]
    assert all(study in lines[4] for study in found)
