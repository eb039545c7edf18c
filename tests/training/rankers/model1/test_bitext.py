import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.training.rankers.model1.bitext import Bitext, build_bitext, chunk_counts

Rows = list[list[int]]
SENTENCES = st.lists(st.integers(0, 9), max_size=12)
ALIGNED = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=8)


def arrays(rows: Rows) -> list[NDArray[np.int32]]:
    return [np.array(row, dtype=np.int32) for row in rows]


def make_rows(tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Rows:
    return [row.tolist() for row in np.split(tokens, offsets[1:-1])]


def pairs_of(pairs: Bitext) -> list[tuple[list[int], list[int]]]:
    targets = make_rows(pairs.target_tokens, pairs.target_offsets)
    sources = make_rows(pairs.source_tokens, pairs.source_offsets)
    return list(zip(targets, sources, strict=True))


def test_pairs_a_query_with_each_chunk_and_then_the_other_way_round() -> None:
    both = build_bitext(arrays([[1, 2], [3]]), arrays([[5, 6, 7, 8, 9], [4]]))
    expected = [([1, 2], [5]), ([1, 2], [6, 7]), ([1, 2], [8, 9]), ([3], [4])]
    assert pairs_of(both) == expected + [(chunk, query) for query, chunk in expected]
    assert len(both) == 8
    assert both.target_tokens.dtype == both.source_tokens.dtype == np.int32
    assert both.target_offsets.dtype == both.source_offsets.dtype == np.int64


def forward(queries: Rows, documents: Rows) -> list[tuple[list[int], list[int]]]:
    """The pairs whose target is a query."""
    pairs = pairs_of(build_bitext(arrays(queries), arrays(documents)))
    return pairs[: len(pairs) // 2]


def test_chunk_counts_stay_between_one_and_the_tokens_there_are() -> None:
    queries, documents = np.array([10, 2, 2, 1]), np.array([3, 5, 8, 2])
    assert chunk_counts(queries, documents).tolist() == [1, 3, 4, 2]


@given(ALIGNED)
def test_chunks_put_together_are_the_document(aligned: list[tuple[list[int], list[int]]]) -> None:
    usable = [(query, document) for query, document in aligned if query and document]
    queries, documents = ([pair[side] for pair in aligned] for side in (0, 1))
    if not usable:
        with pytest.raises(InputError, match="no pair has a token left"):
            forward(queries, documents)
        return
    pairs = forward(queries, documents)
    for query, document in usable:
        joined: list[int] = []
        while len(joined) < len(document):
            target, chunk = pairs.pop(0)
            assert target == query
            assert len(chunk) <= max(1, 1.5 * len(query) + 1)
            joined += chunk
        assert joined == document
    assert not pairs
