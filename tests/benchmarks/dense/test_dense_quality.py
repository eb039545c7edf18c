"""Lists of documents are merged and compared as the papers say."""

import numpy as np
from benchmarks.dense.dense_quality import consistency, fused

FIRST, SECOND = [np.array([3, 1])], [np.array([2, 3])]


def test_a_document_of_both_lists_comes_first_by_reciprocal_ranks() -> None:
    assert fused(FIRST, SECOND, 5)[0][:3].tolist() == [3, 2, 1]


def test_lists_take_turns_from_the_first_on() -> None:
    assert fused(FIRST, SECOND, 5, alternating=True)[0][:3].tolist() == [3, 2, 1]
    assert fused(SECOND, FIRST, 5, alternating=True)[0][:3].tolist() == [2, 3, 1]


def test_documents_of_no_list_are_not_found() -> None:
    for alternating in (False, True):
        assert len(fused(FIRST, SECOND, 5, alternating=alternating)[0]) == 3


def test_consistency_is_the_share_that_the_base_has() -> None:
    assert consistency(SECOND, FIRST, 1) == 0
    assert consistency(SECOND, FIRST, 2) == 0.5
