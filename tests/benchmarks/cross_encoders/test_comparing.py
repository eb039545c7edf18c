"""Rows have the values of what is served, and marks where differences are significant."""

import numpy as np
import pytest
from benchmarks.cross_encoders.candidates import Lists
from benchmarks.cross_encoders.comparing import (
    DAGGERS,
    FOLDS,
    RANKED_BY,
    Row,
    alone,
    marks,
    mean_of,
    shown_rows,
    with_bm25,
)
from benchmarks.harness.judging import judged_lists
from benchmarks.harness.query_scaling import of_unit_variance

from ranklet.training.data.splits import JudgedQuery
from ranklet.training.tuning.cross_validation import interpolate

COUNT = 40


@pytest.fixture
def lists() -> Lists:
    rng = np.random.default_rng(0)
    queries = [JudgedQuery(f"q{at}", "x", {f"d{at % 7}": 1}) for at in range(COUNT)]
    ids = [[f"d{at}" for at in rng.permutation(7)] for _ in queries]
    scores = [np.sort(rng.normal(size=7)).astype(np.float32)[::-1] for _ in queries]
    return Lists(queries, ids, scores, {f"d{at}": f"text {at}" for at in range(7)})


def of_relevance(lists: Lists, noise: float) -> list[np.ndarray]:
    """Return scores that know what is relevant, up to some noise."""
    rng = np.random.default_rng(1)
    return [
        np.array([name in query.relevant for name in own], np.float32)
        + rng.normal(0, noise, len(own)).astype(np.float32)
        for query, own in zip(lists.queries, lists.ids, strict=True)
    ]


def test_scores_that_know_the_answer_rank_it_first(lists: Lists) -> None:
    values = alone(lists, of_relevance(lists, 0))
    assert all((each == 1).all() for each in values.values())


def test_the_fusion_is_that_of_the_cross_validation(lists: Lists) -> None:
    scores = of_relevance(lists, 0.7)
    values, alphas = with_bm25(lists, scores)
    pairs = zip(lists.scores, scores, strict=True)
    features = [of_unit_variance(np.stack(both, 1)) for both in pairs]
    fit = interpolate(judged_lists(lists.queries, lists.ids, features), RANKED_BY, folds=FOLDS)
    np.testing.assert_array_equal(values[RANKED_BY], fit.values)
    assert alphas == fit.alphas
    assert values["nDCG@10"].shape == (COUNT,)


def test_the_mean_of_seeds_is_that_of_each_query() -> None:
    several = [{"MRR@10": np.array([1.0, 0.0]), "nDCG@10": np.array([1.0, 0.5])}] * 2
    several[1] = {"MRR@10": np.array([0.0, 0.0]), "nDCG@10": np.array([0.0, 0.5])}
    found = mean_of(several)
    assert found["MRR@10"].tolist() == [0.5, 0.0]
    assert found["nDCG@10"].tolist() == [0.5, 0.5]


def test_only_significant_differences_have_a_mark() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50)
    values = {"above": base + 0.2 + rng.normal(0, 0.1, 50), "level": rng.permutation(base)}
    found = marks(values, dict.fromkeys(values, base), DAGGERS)
    assert found == {"above": "‡", "level": ""}
    assert marks(values, {}, DAGGERS) == {}
    assert marks({"one": np.array([1.0])}, {"one": np.array([0.0])}, DAGGERS) == {}


def test_a_table_has_a_line_per_row_with_intervals_and_seeds(lists: Lists) -> None:
    known = of_relevance(lists, 0)
    fused, alphas = with_bm25(lists, known)
    bm25, own = alone(lists, lists.scores), alone(lists, known)
    rows = [
        Row("BM25", bm25),
        Row("vanilla", own, (bm25, own), fused=fused, alphas=alphas, notes=("note",)),
        Row("worse", bm25, (bm25,), base=own, fused=fused, alphas=alphas, notes=("note",)),
    ]
    head, _, *lines = shown_rows(rows, "vanilla's", notes=("told",)).splitlines()
    assert "MRR@10 − vanilla's (95 %)" in head
    assert {line.count("|") for line in (head, *lines)} == {head.count("|")}
    assert lines[0].startswith("| BM25 |")
    assert f"| 1.0000‡ | 1.0000‡ | {bm25[RANKED_BY].mean():.3f} to 1.000 |" in lines[1]
    assert "−**" in lines[2]
    assert "°°" in lines[2]  # with BM25 it is far better than alone
    without = shown_rows(rows, "vanilla's", notes=("told",), fused=False)
    assert "with BM25" not in without
