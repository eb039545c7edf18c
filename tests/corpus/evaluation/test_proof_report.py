from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.evaluation.proof_report import Report, compare_scores, report_table

REFERENCE = np.array([[3, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0]], np.float32)
SWAPPED = np.array([[2, 3, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0]], np.float32)
RELEVANT = [[0], [0], []]  # the last query has none


def report(scores: NDArray[np.float32], **changes: Any) -> Report:
    return replace(compare_scores("int8", 10, REFERENCE, scores, RELEVANT), **changes)


def test_the_loss_and_what_chance_may_have_added() -> None:
    found = report(SWAPPED)
    second = 1 / np.log2(3)  # of the one query, the relevant document is second in place of first
    assert found.torch_ndcg == 1
    assert found.ndcg == pytest.approx((second + 1) / 2)
    assert found.ndcg_loss == pytest.approx((1 - second) / 2)
    # Two differences, 1 − second and 0: their standard deviation over √2.
    assert found.loss_error == pytest.approx((1 - second) / 2)
    assert report(REFERENCE).loss_error == 0
    alone = compare_scores("int8", 10, REFERENCE[:1], SWAPPED[:1], [[0]])
    assert alone.loss_error == 0  # unknown, because there is only one query


def test_without_judgements_the_table_has_no_ndcg() -> None:
    unjudged = [compare_scores("int8", 10, REFERENCE, SWAPPED, [[], [], []])]
    assert not unjudged[0].judged
    header, row, pairs = report_table(unjudged).splitlines()
    assert header.split() == [
        "variant", "max", "error", "Kendall", "top", "10", "top", "1", "batch", "MB", "ms/doc"
    ]  # fmt: skip
    assert len(row.split()) == 8
    assert row.split()[3:5] == ["100.0%", "66.7%"]
    assert pairs == "12 pairs of 3 queries and 4 documents, without judgements"
    assert "nDCG@10" in report_table([report(SWAPPED)])


def test_the_table_says_on_how_many_texts_it_rests_and_how_many_are_the_users() -> None:
    table = report_table([report(REFERENCE, own_queries=1, own_documents=4)])
    assert "12 pairs of 3 queries and 4 documents\n1 of these queries and 4 of these" in table
    assert "yours" not in report_table([report(REFERENCE)])


@pytest.mark.parametrize("values", [1, 2, 5, 1000])
def test_kendall_is_that_of_scipy_with_and_without_ties(values: int) -> None:
    from scipy.stats import kendalltau

    rng = np.random.default_rng(values)
    for size in (2, 3, 50):
        theirs, ours = rng.integers(0, values, (2, 1, size)).astype(np.float32)
        wanted = float(kendalltau(theirs, ours).statistic)
        if not np.isfinite(wanted):
            wanted = float(np.ptp(theirs) == np.ptp(ours) == 0)
        assert compare_scores("int8", 0, theirs, ours, [()]).kendall == wanted
