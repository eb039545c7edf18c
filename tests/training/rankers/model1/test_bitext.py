import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.rankers.model1.bitext import (
    Bitext,
    build_bitext,
    chunk_counts,
    concatenated_ranges,
)

Rows = list[list[int]]
SENTENCES = st.lists(st.integers(0, 9), max_size=12)
ALIGNED = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=8)


def arrays(rows: Rows) -> list[NDArray[np.int32]]:
    return [np.array(row, dtype=np.int32) for row in rows]


def rows_of(tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Rows:
    return [row.tolist() for row in np.split(tokens, offsets[1:-1])]


def pairs_of(bitext: Bitext) -> list[tuple[list[int], list[int]]]:
    targets = rows_of(bitext.target_tokens, bitext.target_offsets)
    sources = rows_of(bitext.source_tokens, bitext.source_offsets)
    return list(zip(targets, sources, strict=True))


def test_pairs_a_query_with_each_chunk_and_then_the_other_way_round() -> None:
    bitext = build_bitext(arrays([[1, 2], [3]]), arrays([[5, 6, 7, 8, 9], [4]]))
    forward = [([1, 2], [5]), ([1, 2], [6, 7]), ([1, 2], [8, 9]), ([3], [4])]
    assert pairs_of(bitext) == forward + [(chunk, query) for query, chunk in forward]
    assert len(bitext) == 8
    assert bitext.target_tokens.dtype == bitext.source_tokens.dtype == np.int32
    assert bitext.target_offsets.dtype == bitext.source_offsets.dtype == np.int64


def test_one_direction_only() -> None:
    bitext = build_bitext(arrays([[1, 2]]), arrays([[5, 6]]), symmetric=False)
    assert pairs_of(bitext) == [([1, 2], [5, 6])]


def test_document_is_cut_before_it_is_split() -> None:
    bitext = build_bitext(
        arrays([[1]]), arrays([[5, 6, 7, 8]]), max_document_tokens=2, symmetric=False
    )
    assert pairs_of(bitext) == [([1], [5]), ([1], [6])]


def test_rare_tokens_are_dropped_and_the_lower_id_wins_a_tie() -> None:
    queries, documents = arrays([[1, 2], [9]]), arrays([[1, 3, 3], [9, 1]])
    bitext = build_bitext(queries, documents, max_tokens=3, symmetric=False)
    assert pairs_of(bitext) == [([1], [1]), ([1], [3]), ([1], [3]), ([9], [9]), ([9], [1])]
    bitext = build_bitext(queries, documents, max_tokens=2, symmetric=False)
    assert pairs_of(bitext) == [([1], [1]), ([1], [3]), ([1], [3])]


def test_pairs_with_an_empty_side_are_skipped() -> None:
    bitext = build_bitext(arrays([[], [1], [2]]), arrays([[5], [], [6]]), symmetric=False)
    assert pairs_of(bitext) == [([2], [6])]


def test_a_higher_ratio_makes_longer_chunks() -> None:
    bitext = build_bitext(arrays([[1]]), arrays([[5, 6, 7, 8]]), chunk_ratio=2, symmetric=False)
    assert pairs_of(bitext) == [([1], [5, 6]), ([1], [7, 8])]


def test_chunk_counts_stay_between_one_and_the_tokens_there_are() -> None:
    queries, documents = np.array([10, 2, 2, 1]), np.array([3, 5, 8, 2])
    assert chunk_counts(queries, documents, 1.0).tolist() == [1, 3, 4, 2]
    assert chunk_counts(queries, documents, 0.1).tolist() == [3, 5, 8, 2]


@given(ALIGNED)
def test_chunks_put_together_are_the_document(aligned: list[tuple[list[int], list[int]]]) -> None:
    usable = [(query, document) for query, document in aligned if query and document]
    queries, documents = (arrays([pair[side] for pair in aligned]) for side in (0, 1))
    if not usable:
        with pytest.raises(InputError, match="no pair has a token left"):
            build_bitext(queries, documents)
        return
    pairs = pairs_of(build_bitext(queries, documents, symmetric=False))
    for query, document in usable:
        joined: list[int] = []
        while len(joined) < len(document):
            target, chunk = pairs.pop(0)
            assert target == query
            assert len(chunk) <= max(1, 1.5 * len(query) + 1)
            joined += chunk
        assert joined == document
    assert not pairs


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=9))
def test_concatenated_ranges(ranges: list[tuple[int, int]]) -> None:
    starts, lengths = (np.array([pair[i] for pair in ranges], np.int64) for i in (0, 1))
    expected = [value for start, length in ranges for value in range(start, start + length)]
    assert concatenated_ranges(starts, lengths).tolist() == expected


@pytest.mark.parametrize(
    ("queries", "documents", "message"),
    [
        ([], [], "no pair has a token left"),
        ([[1]], [], "1 queries and 0 documents"),
        ([[-1]], [[2]], "integers from 0"),
        ([[2**31]], [[2]], "integers from 0"),
    ],
)
def test_unusable_input_is_refused(queries: Rows, documents: Rows, message: str) -> None:
    wide = [[np.array(row, np.int64) for row in rows] for rows in (queries, documents)]
    with pytest.raises(InputError, match=message):
        build_bitext(*wide)


def test_floats_and_matrices_are_no_tokens() -> None:
    good = np.array([1])
    for bad in (np.array([1.0]), np.array([[1]])):
        with pytest.raises(InputError, match="one-dimensional"):
            build_bitext([good], [bad])


@pytest.mark.parametrize(
    "option", [{"max_tokens": 0}, {"max_document_tokens": -1}, {"chunk_ratio": 0.0}]
)
def test_options_must_be_positive(option: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be positive"):
        build_bitext(arrays([[1]]), arrays([[2]]), **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokens", "offsets", "message"),
    [
        ([1], [0, 1, 1], "as many target rows"),
        ([1], [0, 2], "from 0 to the 1"),
        ([], [0, 0], "needs a token"),
        ([-1], [0, 1], "not be negative"),
    ],
)
def test_a_bitext_checks_itself(tokens: list[int], offsets: list[int], message: str) -> None:
    good, bounds = np.array([1], np.int32), np.array([0, 1])
    with pytest.raises(InputError, match=message):
        Bitext(np.array(tokens, np.int32), np.array(offsets), good, bounds)
