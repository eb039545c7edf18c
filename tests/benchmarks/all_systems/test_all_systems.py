"""The benchmark runs to its end on a tiny collection, and finds again what it has kept."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.export.options import ExportOptions
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

all_systems = pytest.importorskip("benchmarks.all_systems.all_systems")
bundles = pytest.importorskip("benchmarks.all_systems.bundles")
place = pytest.importorskip("benchmarks.harness.place")
pipeline_precision = pytest.importorskip("benchmarks.parity.pipeline_precision")
rankers = pytest.importorskip("benchmarks.all_systems.rankers")
studies = pytest.importorskip("benchmarks.all_systems.studies")

SETTINGS: dict[str, dict[str, Any]] = {
    "light": {"context": "neighbours", "similarity": "cosine"},
    "ndrm3": {"architecture": "ndrm3"},
    "cross": {"head": "model1", "marking": "pre_doc"},
}


def tiny_rankers(tiny: "TinyRankers") -> dict[str, Any]:
    """Return the rankers of the benchmark, with networks of two layers."""

    def of(name: str, kind: str) -> Callable[..., Checkpoint]:
        return lambda *_: tiny.checkpoint(kind, **SETTINGS.get(name, {}))

    return {
        name: replace(
            each,
            learn=of(name, each.kind),
            source=studies.ENCODER if each.source == studies.ENCODER else studies.OWN,
        )
        for name, each in rankers.RANKERS.items()
    }


@pytest.mark.slow
def test_all_systems_are_measured(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklet.export.proof.variants.FAITHFUL", 0.0)
    monkeypatch.setattr("ranklet.export.rankers.conformer_kernel.exporting.PROBES", (5, 16))
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "tiny")
    study = studies.Study(
        "tiny", held_out="train", lexical=studies.QA_MIX, choosing=20, queries=10, read=6, pairs=5
    )
    scope = bundles.Scope(
        place.Place(tmp_path / "data", tmp_path / "work"),
        {studies.QA_MIX: study, "again": replace(study, titles=False, encoder="again")},
        tiny_rankers(tiny),
        ExportOptions(variants=("fp32", "int8"), max_ndcg_loss=1.0, prune=40),
        processes=1, timed=3, timed_pairs=2, rounds=1, starts=1,
    )  # fmt: skip
    text = all_systems.section(scope)
    for name in ("BM25", "EPIC retrieves", "best with a cross-encoder last", "ColBERT retrieves"):
        assert text.count(f"| {name} |") >= 4  # in the summary, of two collections, and its costs
    assert text.count("| MiniLM of its own queries retrieves |") == 2  # it has no row of qa-mix
    assert text.count("- Goal: ") == 4  # one is for a collection that is not here
    assert "cross-encoder retrieves" not in text
    assert "20 × BM25's, 6 queries" in text  # what reads pairs has fewer

    precision = pipeline_precision.section(scope, read=4)
    assert precision.count("| best with a cross-encoder last |") == 2  # a row per collection
    assert precision.count("| best with one encoder |") == 2
    assert precision.count(" | 4 | ") == 2  # what reads pairs has fewer queries
    assert "- Goal: int8 loses at most 0.3% of MRR@10" in precision

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("made again")

    for made in ("export_bundle", "index_bundle", "write_joined"):
        monkeypatch.setattr(bundles, made, refused)
    for module, made in (("measuring", "evaluate"), ("timing", "latencies"), ("choosing", "path")):
        monkeypatch.setattr(f"benchmarks.all_systems.{module}.{made}", refused)
    assert all_systems.section(scope) == text
    assert pipeline_precision.section(scope, read=4) == precision
