import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.corpus.evaluation.significance import (
    compare,
    holm,
    interval,
    paired_t_test,
    t_probability,
    t_quantile,
)
from ranklet.runtime.ground.errors import InputError

RNG_VALUES = np.random.default_rng(0).random((3, 50))


def test_p_by_the_definition_of_t() -> None:
    from scipy.stats import t

    first, second, _ = RNG_VALUES
    difference = first - second
    statistic = difference.mean() / (difference.std(ddof=1) / math.sqrt(50))
    assert paired_t_test(first, second) == pytest.approx(2 * t.sf(abs(statistic), 49))


def test_the_interval_of_a_difference_is_that_of_the_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, 200)
    better = base + 0.1 + rng.normal(0, 0.05, 200)
    found, wanted = interval(better, base), ttest_rel(better, base).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize("freedom", [1, 2, 3, 30, 399, 20_000])
def test_t_is_distributed_as_in_scipy(freedom: int) -> None:
    from scipy.stats import t

    for value in (0.0, 0.01, 0.5, 1.0, -1.96, 4.0, 12.0, 37.0):
        wanted = 2 * t.sf(abs(value), freedom)
        assert t_probability(value, freedom) == pytest.approx(wanted, rel=1e-9, abs=1e-300)
    for p in (0.5, 0.05, 1e-6):
        assert t_quantile(p, freedom) == pytest.approx(t.ppf(1 - p / 2, freedom), rel=1e-9)


def test_identical_values_are_no_difference() -> None:
    (only,) = compare({"a": [0.1, 0.5, 0.3], "b": [0.1, 0.5, 0.3]})
    assert (only.p, only.p_holm, only.difference) == (1.0, 1.0, 0.0)


def test_a_constant_difference_is_certain() -> None:
    values = np.array([0.1, 0.2, 0.7])
    assert paired_t_test(values, values + 0.1) == 0.0


def test_compare_takes_every_pair_in_order() -> None:
    a, b, c = RNG_VALUES
    compared = compare({"a": a, "b": b + 0.3, "c": c})
    assert [(x.first, x.second) for x in compared] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert compared[0].difference == pytest.approx((a - b - 0.3).mean())
    assert compared[0].p < 0.001
    assert {x.queries for x in compared} == {50}
    assert [x.p_holm for x in compared] == list(holm([x.p for x in compared]))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    corrected = np.array(holm(p_values))
    assert (corrected >= np.array(p_values)).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_unusable_input_is_refused() -> None:
    with pytest.raises(InputError, match="one value per query"):
        compare({"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(InputError, match="two or more"):
        compare({"a": [1.0], "b": [1.0]})
    with pytest.raises(InputError, match="finite"):
        compare({"a": [1.0, math.nan], "b": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"unknown systems \['x'\]"):
        compare({"a": [1.0, 2.0]}, pairs=[("a", "x")])
