from typing import Any

import pytest
from tests.explanations import check_sums

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.execution.explained_fusion import explain_linear, explain_reciprocal_ranks
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipelines.pipeline import Fuse

NAN = float("nan")
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


def test_a_sum_has_the_parts_of_its_inputs_in_its_own_unit() -> None:
    stage = Fuse("linear", ("a", "b"), (0.5, 2.0))
    explanation = explain_linear(stage, [0.5, 0.25], own_score)
    assert [(part.label, part.value) for part in explanation.parts] == [
        ("2·b", 0.5 * 7.25), ("0.5·a", 0.25 * 7.25),
    ]  # fmt: skip
    assert explanation.label == "fuse (linear) 0.5·a + 2·b"
    check_sums(explanation)


def check_marks(bundle: Bundle, hit: Hit) -> None:
    """Check that all marks together weigh what the ranks add that have any reason in the text."""
    assert hit.explanation is not None
    placed = [part.value for part in hit.explanation.parts if part.reasons and part.reasons.value]
    total = sum(abs(span.value) for span in bundle.highlight(hit))
    assert total == pytest.approx(sum(placed), rel=1e-5)


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


def test_scaled_scores_add_up_and_are_marked_in_the_text(bundle: Bundle) -> None:
    stages = [*RETRIEVE, RESCORE, fuse("linear", "bm25", "bm25_pieces", "model1")]
    for hit in bundle.rank(QUERY, k=8, pipeline=stages, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
        check_sums(hit.explanation)
        assert bundle.highlight(hit)
