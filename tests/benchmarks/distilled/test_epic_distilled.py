"""The tables of EPIC's two lessons, from values that are made up."""

import numpy as np
import pytest

pytest.importorskip("scipy")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
distilled = pytest.importorskip("benchmarks.distilled.epic_distilled")


def test_a_lesson_that_is_better_gains_and_the_curves_have_every_evaluation() -> None:
    student = distilled.STUDENTS[distilled.NAME]
    rng = np.random.default_rng(0)
    values = {
        f"{distilled.label(student, lesson)} {way}": 0.5 + gain + rng.normal(0, 0.01, 50)
        for lesson, gain in zip(distilled.LESSONS, (0.0, 0.1), strict=True)
        for way in distilled.WAYS
    }
    values[distilled.BASE] = np.full(50, 0.4)
    cross = distilled.RANKERS[distilled.TEACHER].label
    values[f"{cross} on BM25's first 100"] = np.where(np.arange(50) < 9, 0.75, np.nan)
    measured = {name: dict.fromkeys(comparing.MEASURES, each) for name, each in values.items()}
    facts = {
        lesson: {
            "measure": "MRR@10",
            "seconds": seconds,
            "evaluation_seconds": 60,
            "best_step": 250,
            "evaluations": [{"step": 0, "value": 0.1}, {"step": 250, "value": 0.2}],
        }
        for lesson, seconds in zip(distilled.LESSONS, (600, 1_140), strict=True)
    }
    page = distilled.section(comparing.Studied(10, 50, 0, [], measured, {}), facts)
    for lesson, gain in zip(distilled.LESSONS, ("+0.1", "+0.2"), strict=True):
        rows = [line for line in page.splitlines() if line.startswith(f"| EPIC by {lesson} ")]
        assert len(rows) == len(distilled.WAYS)
        assert all(gain in row and "‡" in row for row in rows)
    assert page.count("| EPIC | re") == 2  # reranks and retrieves
    assert "| judgements | 11 | 250 | 0.100 | 0.200 |" in page
    assert "| teacher | 20 | 250 | 0.100 | 0.200 |" in page


def test_both_lessons_have_equal_queries_and_steps() -> None:
    (student,) = distilled.STUDENTS.values()
    assert student.lessons == distilled.LESSONS
    assert student.options == distilled.SCHEDULE
    assert student.queries == distilled.QUERIES
