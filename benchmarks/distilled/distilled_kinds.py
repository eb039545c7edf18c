"""Which kinds of rankers gain most by learning from a cross-encoder instead of judgements.

A student learns twice from the same queries, in the same number of steps, and is then measured as
it is served.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE, RERANKED
from benchmarks.all_systems.rankers import CROSS_STEPS, RANKERS
from benchmarks.all_systems.studies import BM25, Study
from benchmarks.distilled.students import (
    DEPTH,
    FROM_JUDGEMENTS,
    LESSONS,
    QUERIES,
    STUDENTS,
    TEACHER,
    Student,
    label,
    rankers,
)
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import MEASURES, mark

PACKAGES = ("torch", "transformers", "onnxruntime", "gensim")
STUDY = "students of qa-mix"
BASES = (BM25, "minilm", TEACHER)
WAYS = {f"on BM25's first {RERANKED}": "reranks", "retrieves": "retrieves"}


def run(place: Place) -> str:
    """Train, export and measure what is not kept."""
    base = {name: RANKERS[name] for name in BASES}
    scope = Scope(place, {STUDY: Study("qa-mix")}, rankers(base, STUDENTS))  # 4,000 passages
    return section(studied(scope, STUDY, fused=False), STUDENTS)


def section(found: Studied, students: Mapping[str, Student]) -> str:
    """Return the tables."""
    return f"""
{found.queries} dev queries of qa-mix, {found.passages:,} passages, int8 networks as they are \
served. Every student learns from {QUERIES:,} queries of train, from its usual negatives or from \
the margins of the cross-encoder (`ranklet score`, the first {DEPTH} of BM25 and of the untrained \
MiniLM); the steps and all other options are equal. The cross-encoder itself learned from more \
queries, {CROSS_STEPS} steps of 32 pairs.

{gains(found, students)}

{_variants(found, students)}

Two-sided paired t-tests with Holm's correction: † p < .05, ‡ p < .01; intervals are 95 %.

{baselines(found)}

These trainings are short, so that they fit into hours of two processors: they show what a lesson \
adds, not what a kind can reach.
"""


def _of_all_queries(found: Studied) -> dict[str, NDArray[np.float64]]:
    """Return the values of systems that rank for all queries; the teacher reads some of them."""
    values = {name: each[RANKED_BY] for name, each in found.values.items()}
    return {name: each for name, each in values.items() if np.isfinite(each).all()}


def gains(found: Studied, students: Mapping[str, Student]) -> str:
    """Return one row per student and way to use it: by judgements, by the teacher, and the gain."""
    values = _of_all_queries(found)
    pairs, told = [], []
    for student in students.values():
        for suffix, way in WAYS.items():
            pair = tuple(f"{label(student, each)} {suffix}" for each in LESSONS)
            if student.lessons == LESSONS and pair[0] in values:
                pairs.append((pair[1], pair[0]))
                told.append((student.label, way))
    tests = compare(values, pairs=pairs)
    rows = []
    for (name, way), pair, test in zip(told, pairs, tests, strict=True):
        gain = difference(values[pair[0]], values[pair[1]])
        means = [f"{values[each].mean():.4f}" for each in reversed(pair)]
        rows.append([name, way, *means, f"{shown(gain)}{mark(test.p_holm)}".strip()])
    head = ["student", "use", f"{RANKED_BY} by judgements", "by the teacher", "gain"]
    return table(head, rows)


def _variants(found: Studied, students: Mapping[str, Student]) -> str:
    """Return one row per student that learns in another way than the one that it stands next to."""
    values = _of_all_queries(found)
    pairs, rows = [], []
    for student in students.values():
        if not student.beside:
            continue
        usual = students[student.beside]
        for suffix, way in WAYS.items():
            pair = tuple(f"{label(each, FROM_JUDGEMENTS)} {suffix}" for each in (student, usual))
            if values.keys() >= set(pair):
                pairs.append((pair[0], pair[1]))
                rows.append([student.label, usual.label, way])
    if not rows:
        return ""
    tests = compare(values, pairs=pairs)
    for row, (one, other), test in zip(rows, pairs, tests, strict=True):
        row += [f"{values[name].mean():.4f}" for name in (one, other)]
        row.append(f"{shown(difference(values[one], values[other]))}{mark(test.p_holm)}".strip())
    head = ["variant", "next to", "use", f"{RANKED_BY}", "next to it", "difference"]
    return table(head, rows)


def baselines(found: Studied) -> str:
    """Return what BM25, the start and the teacher reach."""
    names = [BASE, *(RANKERS[name].label for name in BASES if name != BM25)]
    rows = [
        [
            name,
            int(np.isfinite(own[RANKED_BY]).sum()),
            *(f"{np.nanmean(own[measure]):.4f}" for measure in MEASURES),
        ]
        for name, own in found.values.items()
        if name == BASE or any(name.startswith(f"{each} ") for each in names)
    ]
    return table(["baseline", "queries", *MEASURES], rows)
