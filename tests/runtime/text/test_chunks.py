from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.text.chunks import piece_chunks, word_windows


def test_the_papers_three_chunks() -> None:
    # Boytsov & Kolter, §4.2: of a long document the first 1,431 pieces are read, three times 477.
    spans = piece_chunks(5000, 477, 3)
    assert spans == [(0, 477), (477, 954), (954, 1431)]


@given(st.integers(0, 300), st.integers(1, 50), st.integers(1, 10))
def test_chunks_follow_each_other(length: int, size: int, most: int) -> None:
    spans = piece_chunks(length, size, most)
    assert 1 <= len(spans) <= most
    assert spans[0][0] == 0
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert spans[-1][1] == min(length, size * most)


def test_windows_of_one_piece_a_word() -> None:
    begins = list(range(400))
    # Boualili: 150 words every 75; the last is the first that reaches the end.
    assert word_windows(begins, 400, 150, 75, 30) == [
        (0, 150), (75, 225), (150, 300), (225, 375), (300, 400)
    ]  # fmt: skip
    assert word_windows(begins[:150], 150, 150, 75, 30) == [(0, 150)]
    assert word_windows(begins[:151], 151, 150, 75, 30) == [(0, 150), (75, 151)]


def test_too_many_windows_are_reduced_to_the_first_and_the_last() -> None:
    spans = word_windows(list(range(10_000)), 10_000, 150, 75, 30)
    assert len(spans) == len(set(spans)) == 30
    assert spans[0] == (0, 150)
    assert spans[-1][1] == 10_000
    assert word_windows(list(range(1000)), 1000, 150, 75, 1) == [(0, 150)]


@pytest.mark.parametrize("length", [0, 4])
def test_a_text_without_words_is_one_window(length: int) -> None:
    assert word_windows([], length, 150, 75, 30) == [(0, length)]


@given(st.lists(st.integers(1, 3), max_size=60), st.integers(1, 9), st.integers(1, 9), st.data())
def test_windows_hold_whole_words_and_all_of_them(
    sizes: list[int], window: int, most: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, window))
    begins = [sum(sizes[:at]) for at in range(len(sizes))]
    spans = word_windows(begins, sum(sizes), window, stride, 1000)
    edges = {*begins, sum(sizes), 0}
    assert all({*span} <= edges for span in spans)
    assert {piece for a, b in spans for piece in range(a, b)} == set(range(sum(sizes)))
    assert len(word_windows(begins, sum(sizes), window, stride, most)) <= most
