"""Agreement of two rankings without judgements."""

import pytest

from ranklet.corpus.evaluation.agreement import Agreement, rank_biased_overlap


@pytest.mark.parametrize(
    ("one", "other", "p", "value"),
    [
        ("abcde", "abcde", 0.9, 1.0), ("abc", "def", 0.9, 0.0), ("", "", 0.9, 1.0),
        ("", "a", 0.9, 0.0),
        # by hand: (1 - p) / p (0 p + 2/2 p²) + 2/2 p², and with X = 1, 1, 2 of three
        ("ab", "ba", 0.5, 0.5), ("abc", "adb", 0.5, 0.5 + 0.25 / 2 + 2 / 3 * (0.125 + 0.125)),
        # a ranking that ends agrees with nothing behind it: X = 1, 1
        ("a", "ab", 0.5, 0.5 + 0.5 * 0.25 + 0.5 * 0.25),
    ],
)  # fmt: skip
def test_rank_biased_overlap_by_hand(one: str, other: str, p: float, value: float) -> None:
    assert rank_biased_overlap(one, other, p) == pytest.approx(value, abs=1e-12)
    assert rank_biased_overlap(other, one, p) == pytest.approx(value, abs=1e-12)


def test_a_change_near_the_top_counts_more() -> None:
    top, bottom = ("bacdefghij", "abcdefghji")
    assert rank_biased_overlap("abcdefghij", top) < rank_biased_overlap("abcdefghij", bottom) < 1


def test_hits_move_enter_and_leave() -> None:
    found = Agreement("q", ["a", "b", "c", "d"], ["c", "b", "e"])
    assert found.places == {
        "c": (3, 1), "b": (2, 2), "e": (None, 3), "a": (1, None), "d": (4, None),
    }  # fmt: skip
    assert list(found.changed) == ["c", "e", "a", "d"]
    assert found.overlap == 0.5
    assert Agreement("q", [], []).overlap == Agreement("q", [], []).rbo == 1
