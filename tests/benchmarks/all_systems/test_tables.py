"""Tables have a row per system."""

from benchmarks.all_systems import tables
from benchmarks.all_systems.comparing import Cost
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID
from benchmarks.all_systems.studies import QA_MIX, Reads
from tests.benchmarks.all_systems.test_comparing import studied

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
