import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.runtime.execution import fusion
from ranklet.runtime.execution.fusion import Column

NAN = float("nan")


def column(*scores: float) -> Column:
    return np.array(scores, np.float32)


def listed(order: str, candidates: str) -> Column:
    """Return the scores of candidates in a list that is in this order, NaN where absent."""
    return column(*(-order.index(each) if each in order else NAN for each in candidates))


def ranks(*columns: Column) -> NDArray[np.float64]:
    """Return the ranks of each list, (lists, candidates)."""
    return np.stack([fusion.ranks(each) for each in columns])


def merged(first: str, second: str, candidates: str) -> str:
    scores = fusion.alternate(ranks(listed(first, candidates), listed(second, candidates)))
    return "".join(candidates[at] for at in np.argsort(-scores))


def test_alternate_is_equation_6_of_paper_004() -> None:
    assert merged("acd", "bac", "abcd") == "abcd"
    assert merged("acd", "bac", "dcba") == "abcd"


@given(st.permutations("abcdef"), st.permutations("abcdef"), st.integers(0, 6), st.integers(0, 6))
def test_alternate_takes_turns(first: list[str], second: list[str], m: int, n: int) -> None:
    one, other = "".join(first)[:m], "".join(second)[:n]
    turns = [each[at] for at in range(6) for each in (one, other) if at < len(each)]
    wanted = list(dict.fromkeys(turns))  # a later repeat is dropped
    assert merged(one, other, "abcdef")[: len(wanted)] == "".join(wanted)


def test_reciprocal_ranks_are_those_of_the_source() -> None:
    scores = fusion.reciprocal_ranks(ranks(column(3, 2, NAN), column(NAN, 1, 2)), (1.0, 0.5))
    np.testing.assert_allclose(scores, [1 / 61, 1 / 62 + 0.5 / 62, 0.5 / 61])


def test_ranks_give_ties_to_the_earlier_position() -> None:
    assert fusion.ranks(column(1, 2, 1)).tolist() == [2, 1, 3]


def test_linear_is_a_weighted_sum_of_scaled_scores() -> None:
    scores = fusion.linear([column(1, 2), column(10, 20)], (0.5, -1.0), [2.0, 0.1])
    np.testing.assert_allclose(scores, [0, 0])
    assert scores.dtype == np.float32
