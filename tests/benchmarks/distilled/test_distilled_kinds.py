"""Each student learns twice, from judgements and from the teacher, and both are measured."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranklet.export.options import ExportOptions

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

bundles = pytest.importorskip("benchmarks.all_systems.bundles")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
measuring = pytest.importorskip("benchmarks.all_systems.measuring")
rankers = pytest.importorskip("benchmarks.all_systems.rankers")
studies = pytest.importorskip("benchmarks.all_systems.studies")
distilled = pytest.importorskip("benchmarks.distilled.distilled_kinds")
students = pytest.importorskip("benchmarks.distilled.students")
place = pytest.importorskip("benchmarks.harness.place")


@pytest.mark.slow
def test_a_student_learns_twice_and_is_measured_as_it_is_served(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    monkeypatch.setattr("ranklet.export.proof.variants.FAITHFUL", 0.0)
    monkeypatch.setattr(students, "exported", lambda *_: tiny.exported("cross_encoder"))
    imported = replace(tiny.checkpoint("dense"), probes=None)  # as MiniLM comes
    monkeypatch.setattr(rankers.dense, "untrained", lambda: imported)
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "qa-mix")
    short: dict[str, Any] = {
        "backbone": tiny.data.bert, "batch": 8, "device": "cpu",
        "max_query_tokens": 12, "max_document_tokens": 16, "learning_rate": 1e-3,
    }  # fmt: skip
    own = {
        name: replace(students.STUDENTS[name], options={**students.STUDENTS[name].options, **short})
        for name in ("dense", "colbert", "epic", "epic_triples")
    }
    base = {
        studies.BM25: rankers.RANKERS[studies.BM25],
        "minilm": replace(
            rankers.RANKERS["minilm"], learn=lambda *_: tiny.checkpoint("dense"), source=studies.OWN
        ),
    }
    scope = bundles.Scope(
        place.Place(tmp_path / "data", tmp_path / "work"),
        {distilled.STUDY: studies.Study("qa-mix", choosing=5, queries=10)},
        students.rankers(base, own),
        ExportOptions(variants=("fp32", "int8"), max_ndcg_loss=1.0, prune=40),
    )
    found = measuring.studied(scope, distilled.STUDY, fused=False)
    assert not any(each.chosen for each in found.systems)
    text = distilled.section(found, own)
    for row in (
        "| MiniLM | reranks |",
        "| MiniLM | retrieves |",
        "| ColBERT | retrieves |",
        "| EPIC with the paper's triples | EPIC | retrieves |",
    ):
        assert text.count(row) == 1
    assert "| EPIC with the paper's triples | reranks |" not in text  # it has one lesson
    assert text.count("| MiniLM untrained ") == 2  # reranks and retrieves
    assert "| NDRM3" not in text
    kept = {
        name: bundles.BundleFiles(bundles.exported(scope, distilled.STUDY, name)).manifest
        for name in scope.rankers
    }
    of_teacher = kept["colbert_teacher"].provenance["checkpoints"]["colbert_teacher"]
    of_judges = kept["colbert_judgements"].provenance["checkpoints"]["colbert_judgements"]
    assert of_teacher != of_judges


def test_every_student_has_a_name_of_its_own_for_each_lesson() -> None:
    found = students.rankers({}, students.STUDENTS)
    assert len(found) == sum(len(each.lessons) for each in students.STUDENTS.values())
    assert len({each.label for each in found.values()}) == len(found)
    assert all(each.source == studies.OWN for each in found.values())


def test_a_teacher_that_reads_some_queries_only_stops_no_comparison() -> None:
    pytest.importorskip("scipy")
    student = students.STUDENTS["dense"]
    rng = np.random.default_rng(0)
    values = {
        f"{students.label(student, lesson)} {way}": 0.5 + gain + rng.normal(0, 0.01, 50)
        for lesson, gain in zip(students.LESSONS, (0.0, 0.1), strict=True)
        for way in distilled.WAYS
    }
    values[distilled.BASE] = np.full(50, 0.5)
    label = rankers.RANKERS[students.TEACHER].label
    some = np.where(np.arange(50) < 9, 0.75, np.nan)
    values[f"{label} on BM25's first {distilled.RERANKED}"] = some
    found = comparing.Studied(
        10,
        50,
        0,
        [],
        {name: dict.fromkeys(comparing.MEASURES, each) for name, each in values.items()},
        {},
    )
    page = distilled.section(found, {"dense": student})
    assert page.count("+0.1") == 2  # it reranks and retrieves
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {label} "))
    assert row.count("0.7500") == len(comparing.MEASURES)
