import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.forward import Forward

DOCUMENTS = st.lists(st.lists(st.integers(0, 60_000), max_size=6), min_size=1, max_size=8)


def forward(documents: list[list[int]], dtype: type = np.int32) -> Forward:
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in documents])]).astype(np.int64)
    return Forward(offsets, np.array([t for each in documents for t in each], dtype))


@given(DOCUMENTS, st.data(), st.sampled_from([np.int32, np.uint16]))
def test_gather_is_one_document_after_the_other(
    documents: list[list[int]], data: st.DataObject, dtype: type
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(documents) - 1)))
    found = forward(documents, dtype).gather(np.array(chosen, np.uint32))
    assert found.tokens.tolist() == [token for at in chosen for token in documents[at]]
    assert found.owner.tolist() == [place for place, at in enumerate(chosen) for _ in documents[at]]
    assert found.lengths.tolist() == [len(documents[at]) for at in chosen]


def test_nothing_is_gathered_of_no_documents() -> None:
    found = forward([[1, 2]]).gather(np.empty(0, np.uint32))
    assert (len(found.tokens), len(found.owner), len(found.lengths)) == (0, 0, 0)


@pytest.mark.parametrize("offsets", [[0, 2, 9], [0, 3, 1], [0, 50, 60]])
def test_offsets_that_lie_are_damage(offsets: list[int]) -> None:
    with pytest.raises(BundleError, match="damaged"):
        Forward(np.array(offsets), np.array([1, 2, 3], np.int32)).gather(np.array([1]))


def test_a_document_that_is_not_there_is_an_index_error_that_ranking_turns_into_damage() -> None:
    with pytest.raises(IndexError):
        forward([[1]]).gather(np.array([7], np.uint32))
