import pytest

from ranklet.training.evaluation.consistency import Consistency, share

Ranked = list[tuple[str, float]]


def ranked(*names: str) -> Ranked:
    return [(name, -float(rank)) for rank, name in enumerate(names)]


def means(n: int, *queries: tuple[Ranked, Ranked]) -> dict[str, float]:
    counted = Consistency(n)
    for number, (reference, run) in enumerate(queries):
        counted.add(f"q{number}", {"base": reference, "other": run})
    return counted.means()


def test_consistency_is_the_mean_share_of_what_both_find() -> None:
    queries = [
        (ranked("c", "a"), ranked("a", "b", "c")),
        (ranked("x"), ranked("d")),
        (ranked("x"), []),
    ]
    assert means(1, *queries) == {"other": pytest.approx((1 + 0) / 2)}
    assert means(3, *queries) == {"other": pytest.approx((2 / 3 + 0) / 2)}
    assert means(3, ([], [])) == {"other": 0}
    assert Consistency(3).means() == {}


def test_the_baseline_alone_has_no_share() -> None:
    counted = Consistency(3)
    counted.add("q", {"base": ranked("a")})
    assert counted.means() == {}


def test_a_run_is_consistent_with_itself_as_deep_as_the_reference_goes() -> None:
    run = ranked(*(f"d{at}" for at in range(2000)))
    assert share(run, run, 1000) == 1
    assert share(run, run, 2000) == 0.5
