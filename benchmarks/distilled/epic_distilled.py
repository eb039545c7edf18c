"""What EPIC gains from a cross-encoder's margins, after as many steps as fit into an hour."""

from collections.abc import Mapping
from typing import Any

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import Reads, Study
from benchmarks.built.trained import EPIC
from benchmarks.distilled.distilled_kinds import BASES, WAYS, baselines, gains
from benchmarks.distilled.students import DEPTH, LESSONS, TEACHER, Student, label, rankers
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import MEASURES, mark

PACKAGES = ("torch", "transformers", "onnxruntime")
STUDY, NAME = "EPIC of qa-mix", "epic_hour"
PASSAGES, REPORTED = 10_000, 1_000
QUERIES, STEPS, EVALUATE_EVERY = 8_000, 2_000, 250
SCHEDULE = {"steps": STEPS, "evaluate_every": EVALUATE_EVERY}
STUDENTS = {NAME: Student("epic", "EPIC", Reads.QUERY, EPIC, SCHEDULE, queries=QUERIES)}


def run(place: Place) -> str:
    """Train, export and measure what is not kept."""
    base = {name: RANKERS[name] for name in BASES}
    study = Study("qa-mix", passages=PASSAGES, queries=REPORTED)
    scope = Scope(place, {STUDY: study}, rankers(base, STUDENTS))
    facts = {
        lesson: scope.rankers[f"{NAME}_{lesson}"].learn(place, study).training for lesson in LESSONS
    }
    return section(studied(scope, STUDY, fused=False), facts)


def section(found: Studied, facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the tables.

    Args:
        found: what was measured.
        facts: of the training, by lesson.
    """
    cross = RANKERS[TEACHER].label
    return f"""
{found.queries:,} dev queries of qa-mix, {found.passages:,} passages, int8 networks as they are \
served. EPIC learns from {QUERIES:,} queries of train in {STEPS:,} steps of 16, from a relevant \
document and one of BM25's best per query, with all other documents of the batch (judgements), or \
from the margins of the {cross} of `all_systems` (`ranklet score`, the first {DEPTH} of BM25 and \
of the untrained MiniLM; Margin-MSE). All other options are equal.

{gains(found, STUDENTS)}

{against_bm25(found)}

Two-sided paired t-tests with Holm's correction in each table: † p < .05, ‡ p < .01; intervals are \
95 %.

{baselines(found)}

{curves(facts)}
"""


def against_bm25(found: Studied) -> str:
    """Return one row per lesson and way to use it, next to BM25."""
    names = [f"{label(STUDENTS[NAME], each)} {way}" for each in LESSONS for way in WAYS]
    values = {name: found.values[name][RANKED_BY] for name in (*names, BASE)}
    tests = compare(values, pairs=[(each, BASE) for each in names])
    rows = []
    for name, test in zip(names, tests, strict=True):
        gain = difference(values[name], values[BASE])
        means = (f"{found.values[name][measure].mean():.4f}" for measure in MEASURES)
        rows.append([name, *means, f"{shown(gain)}{mark(test.p_holm)}".strip()])
    return table(["system", *MEASURES, f"{RANKED_BY} − BM25"], rows)


def curves(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one row per lesson: minutes, and the held-out queries as the training went on."""
    steps = [each["step"] for each in next(iter(facts.values()))["evaluations"]]
    rows = [
        [
            lesson,
            round((own["seconds"] + own["evaluation_seconds"]) / 60),
            own["best_step"],
            *(f"{each['value']:.3f}" for each in own["evaluations"]),
        ]
        for lesson, own in facts.items()
    ]
    measure = next(iter(facts.values()))["measure"]
    head = [f"learns from; {measure} after … steps", "minutes", "best step"]
    return table([*head, *(f"{each:,}" for each in steps)], rows)
