import pytest

from ranklet.training.evaluation.consistency import consistency


def listed(*names: str) -> list[tuple[str, float]]:
    return [(name, -float(at)) for at, name in enumerate(names)]


def test_it_is_the_mean_share_of_what_both_find() -> None:
    run = {"q1": listed("a", "b", "c"), "q2": listed("d"), "q3": []}
    reference = {"q1": listed("c", "a"), "q2": listed("x")}
    assert consistency(run, reference, 1) == pytest.approx((1 + 0) / 2)
    assert consistency(run, reference, 3) == pytest.approx((2 / 3 + 0) / 2)
    assert consistency({}, reference, 3) == 0


def test_a_run_is_consistent_with_itself_as_deep_as_the_reference_goes() -> None:
    run = {"q": listed(*(f"d{at}" for at in range(2000)))}
    assert consistency(run, run, 1000) == 1
    assert consistency(run, run, 2000) == 0.5
