"""Fusions say what each score or rank adds, and why the ranker ranked the document there."""

import math
from typing import Any

import pytest
from tests.explanations import check_sums

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.fusion import Scaling
from ranklet.runtime.execution.reasons import (
    explain_alternate,
    explain_linear,
    explain_reciprocal_ranks,
)
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipeline import Fuse

NAN = math.nan
RETRIEVE: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 8},
    {"stage": "retrieve", "ranker": "bm25_pieces", "k": 8},
]
RESCORE = {"stage": "rescore", "ranker": "model1"}
QUERY = "how long must a dough rise"


def fuse(method: str, *inputs: str, name: str = "fused") -> dict[str, Any]:
    weights = [] if method == "alternate" else [1.0 + at for at in range(len(inputs))]
    return {
        "stage": "fuse", "method": method, "inputs": list(inputs), "weights": weights, "name": name,
    }  # fmt: skip


def own_score(name: str) -> Explanation:
    return Explanation(f"score of {name}", 7.25, (Explanation("dough", 7.25),))


def test_a_reciprocal_rank_has_the_reasons_of_its_own_ranker() -> None:
    stage = Fuse("rrf", ("a", "b", "c"), (1.0, 2.0, 1.0))
    explanation = explain_reciprocal_ranks(stage, [3, 1, NAN], own_score)
    assert [(part.label, part.value) for part in explanation.parts] == [
        ("b: rank 1", 2 / 61), ("a: rank 3", 1 / 63),
    ]  # fmt: skip
    reasons = explanation.parts[0].reasons
    assert reasons is not None
    assert reasons.label == "because b scores 7.25 (score of b)"
    assert (reasons.value, reasons.parts) == (7.25, own_score("b").parts)
    check_sums(explanation)


def test_a_sum_names_the_scaling_of_this_query_and_what_it_subtracts() -> None:
    stage = Fuse("linear", ("a", "b", "c"), (0.5, 2.0, 1.0), scaling="minmax")
    scalings = [Scaling(0.5, spread=2.0), Scaling(0.25, 7.0, 4.0), Scaling(0.125)]
    explanation = explain_linear(stage, scalings, own_score)
    assert [(part.label, part.value) for part in explanation.parts] == [
        ("0.5·a / 2", 0.25 * 7.25), ("1·c", 0.125 * 7.25), ("2·(b - 7) / 4", 0.125),
    ]  # fmt: skip
    assert [(part.label, part.value) for part in explanation.parts[2].parts] == [
        ("b", 2 * 7.25 / 4), ("from 7, the lowest score of the candidates", -2 * 7 / 4),
    ]  # fmt: skip
    assert explanation.label == "fuse (linear, minmax) 0.5·a + 2·b + 1·c"
    check_sums(explanation)


def test_a_merged_list_owes_a_place_to_the_list_whose_turn_it_was() -> None:
    stage = Fuse("alternate", ("a", "b", "c"))
    explanation = explain_alternate(stage, 0.25, [2, 2, NAN], own_score)
    assert explanation.value == 0.25
    assert [(part.label, part.value) for part in explanation.parts] == [
        ("a: rank 2", 0.25), ("b: rank 2, whose turn came later", 0.0),
    ]  # fmt: skip
    assert all(part.reasons is not None for part in explanation.parts)


def check_marks(bundle: Bundle, hit: Hit) -> None:
    """Check that all marks together weigh what the ranks add that have any reason in the text."""
    assert hit.explanation is not None
    placed = [part.value for part in hit.explanation.parts if part.reasons and part.reasons.value]
    total = sum(abs(span.value) for span in bundle.highlight(hit))
    assert total == pytest.approx(sum(placed), rel=1e-6)


@pytest.mark.parametrize("method", ["rrf", "alternate"])
def test_every_hit_has_reasons_and_marks_that_weigh_what_the_ranks_add(
    bundle: Bundle, method: str
) -> None:
    stages = [*RETRIEVE, RESCORE, fuse(method, "bm25", "bm25_pieces", "model1")]
    ranking = bundle.rank(QUERY, k=8, pipeline=stages, explain=True)
    assert len(ranking) > 3
    for hit in ranking:
        assert hit.explanation is not None
        check_sums(hit.explanation)
        assert all(part.reasons is not None for part in hit.explanation.parts)
        check_marks(bundle, hit)


@pytest.mark.parametrize("outer", ["rrf", "alternate", "linear"])
def test_a_fusion_of_fusions_has_reasons_of_reasons(bundle: Bundle, outer: str) -> None:
    inner = fuse("rrf", "bm25", "bm25_pieces", name="words")
    stages = [*RETRIEVE, inner, RESCORE, fuse(outer, "words", "model1")]
    for hit in bundle.rank(QUERY, k=4, pipeline=stages, explain=True):
        assert hit.explanation is not None
        check_sums(hit.explanation)
        words = next(part for part in hit.explanation.parts if "words" in part.label)
        found = words if outer == "linear" else words.reasons
        assert found is not None
        assert {part.label.split(":")[0] for part in found.parts} <= {"bm25", "bm25_pieces"}
        assert all(part.reasons is not None for part in found.parts)
        if outer != "linear":
            check_marks(bundle, hit)


def test_the_amounts_of_buttons_are_in_the_unit_of_the_score(bundle: Bundle) -> None:
    from ranklet.handlers.page.score_tree import groups

    hit = bundle.rank("rising dough", k=1, pipeline=[*RETRIEVE, fuse("rrf", "bm25")], explain=True)[
        0
    ]
    (group,) = groups(bundle, "rising dough", hit)
    assert group.label == "bm25: rank 1"
    total = sum(part.value for _, part in group.query_tokens)
    assert total == pytest.approx(hit.score, rel=1e-6)


@pytest.mark.parametrize("scaling", ["variance", "minmax"])
def test_scaled_scores_add_up_and_are_marked_in_the_text(bundle: Bundle, scaling: str) -> None:
    from ranklet.handlers.page.score_tree import groups

    stages = [*RETRIEVE, RESCORE, fuse("linear", "bm25", "bm25_pieces", "model1")]
    stages[-1]["scaling"] = scaling
    for hit in bundle.rank(QUERY, k=8, pipeline=stages, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
        check_sums(hit.explanation)
        assert bundle.highlight(hit)
        assert groups(bundle, QUERY, hit)
    (alone,) = bundle.rank(QUERY, [hit.text], pipeline=stages, explain=True)
    assert bundle.highlight(alone)  # no other candidate, and still marks
    stages[-1]["scaling"] = "fixed"
    assert alone.score == bundle.rank(QUERY, [hit.text], pipeline=stages)[0].score
