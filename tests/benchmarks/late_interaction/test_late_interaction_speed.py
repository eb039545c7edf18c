"""How rankings of document numbers are measured, and vectors written for other engines."""

from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.dense.maxsim import TokenStore

speed = pytest.importorskip("benchmarks.late_interaction.late_interaction_speed")
engines = pytest.importorskip("benchmarks.late_interaction.engines")

NAMES = ["a", "b", "c", "d"]


def test_rankings_are_measured_like_trec_eval() -> None:
    queries = [
        JudgedQuery("1", "", {"b": 1}),
        JudgedQuery("2", "", {"a": 1, "d": 1}),
        JudgedQuery("3", "", {"c": 1}),
    ]
    hits = {"10": [[0, 1], [3], []], "100": [[0, 1, 2], [3, 1], []]}
    found = speed.quality(hits, queries, NAMES)
    np.testing.assert_allclose(found["MRR@10"], [1 / 2, 1, 0])
    np.testing.assert_allclose(found["R@100"], [1, 1 / 2, 0])
    ideal = 1 + 1 / np.log2(3)
    np.testing.assert_allclose(found["nDCG@10"], [1 / np.log2(3), 1 / ideal, 0])


def test_a_contender_is_compared_with_the_base_only() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(size=50)
    values = {name: dict.fromkeys(speed.MEASURES, base) for name in ("base", "same")}
    values["worse"] = dict.fromkeys(speed.MEASURES, base - 0.2 - rng.uniform(size=50) / 10)
    found = {name: speed.Measured([], [], each) for name, each in values.items()}
    marks = speed.significances(found, "base")
    assert {marks["base", measure] for measure in speed.MEASURES} == {""}
    assert {marks["same", measure] for measure in speed.MEASURES} == {""}
    assert {marks["worse", measure] for measure in speed.MEASURES} == {"‡"}


def test_others_get_the_vectors_that_the_bundle_stores(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    documents = [rng.normal(size=(size, 8)).astype(np.float32) for size in (3, 0, 5)]
    queries = [rng.normal(size=(size, 8)).astype(np.float32) for size in (2, 4)]
    store = TokenStore.of(documents, "int8", 8)
    written = engines.Vectors.write(tmp_path / "vectors", store, queries)
    paths = {**written.documents(), **written.queries()}
    arrays = {name: np.load(path) for name, path in paths.items()}
    for own, wanted in zip(
        np.split(arrays["documents"], arrays["document_ends"][:-1]), documents, strict=True
    ):
        np.testing.assert_allclose(own, wanted, atol=0.02)
    for own, wanted in zip(np.split(arrays["vectors"], arrays["ends"][:-1]), queries, strict=True):
        np.testing.assert_array_equal(own, wanted)
