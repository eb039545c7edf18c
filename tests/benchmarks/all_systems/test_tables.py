"""Tables have a row per system."""

import numpy as np
from benchmarks.all_systems import tables
from benchmarks.all_systems.comparing import RANKED_BY, Cost, Studied
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID, System
from benchmarks.all_systems.studies import QA_MIX, Reads
from tests.benchmarks.all_systems.test_comparing import studied

from ranklet.runtime.pipeline import Pipeline, Retrieve

BEST_ONE = BEST[Reads.NOTHING]


def test_rows_have_means_marks_and_costs() -> None:
    found = {QA_MIX: studied({HYBRID: 0.1, BEST_ONE: 0.2}), "other": studied({HYBRID: 0.1})}
    costs = {BASE: Cost(0.25, 0.5, 12.3, 60.1, 80.2, 0.0)}
    rows = tables.summary(found, costs).splitlines()
    assert len(rows) == 2 + 3
    assert rows[2].endswith("| 0.25 | 12 |")
    assert rows[4].startswith(f"| {BEST_ONE} | – | ")
    assert "‡**" in rows[4]
    assert "|  |  |  |" in rows[4]  # not on the other collection, and without costs
    rows = tables.quality(found[QA_MIX]).splitlines()
    assert rows[2].endswith("|  |")  # BM25 has no difference to itself
    assert " to +" in rows[3]
    assert "| 0.25 | 0.50 | 12.3 | 60 | 80 | 0.0 |" in tables.expenses(costs)
    assert tables.chosen(found).splitlines()[2:] == [f"| {QA_MIX} | {BEST_ONE} | chosen |"]


def test_a_system_of_one_collection_has_a_row() -> None:
    found = {QA_MIX: studied({HYBRID: 0.1}), "other": studied({HYBRID: 0.1, BEST_ONE: 0.2})}
    *_, row = tables.summary(found, {}).splitlines()
    assert row.startswith(f"| {BEST_ONE} | – |  | 0.")


def test_queries_whose_answers_were_learned_from_stand_apart() -> None:
    best, count = BEST[Reads.QUERY], 200
    known = np.arange(count) < 50
    noise = np.random.default_rng(1).normal(0, 0.01, count)
    own = np.where(known, 1.0, 0.6 + noise)
    own[-20:] = np.nan  # not read
    system = System(best, Pipeline((Retrieve("bm25", 9),)), Reads.QUERY, "chosen")
    values = {HYBRID: {RANKED_BY: np.full(count, 0.5)}, best: {RANKED_BY: own}}
    found = {"one": Studied(10, count, 20, [system], values, {})}
    (row,) = tables.remembered(found, {"one": known}).splitlines()[2:]
    _, _, counts, shared, new, gain, base = row.strip("| ").split(" | ")
    assert (counts, shared, base) == ("50, 130", "1.0000", HYBRID)
    assert new.startswith(("0.59", "0.60"))
    assert gain.startswith(("+0.09", "+0.10"))
    (row,) = tables.remembered(found, {"one": np.ones(count, bool)}).splitlines()[2:]
    assert "| 180, 0 |" in row  # and nothing to compare


def test_the_last_system_is_compared_with_each_of_the_others_where_all_are() -> None:
    best = studied({HYBRID: 0.1, BEST_ONE: 0.2})
    best.values[BEST_ONE][RANKED_BY][-50:] = np.nan  # not read
    found = {QA_MIX: best, "other": studied({HYBRID: 0.1})}
    ((study, *means, over_base, over_hybrid),) = tables.last_against(
        found, (BASE, HYBRID, BEST_ONE)
    )
    assert study == QA_MIX
    assert means[0] == f"{best.values[BASE][RANKED_BY][:-50].mean():.4f}"  # on the same queries
    assert over_base.startswith(("+0.19", "+0.20"))
    assert over_base.endswith("‡")
    assert over_hybrid.startswith(("+0.09", "+0.10"))
    assert tables.last_against({"other": found["other"]}, (BASE, BEST_ONE)) == []
