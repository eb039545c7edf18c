"""Rates of contenders, some of which fail or are not installed."""

import pytest

throughput = pytest.importorskip("benchmarks.gpu.throughput")


def test_a_contender_that_fails_does_not_stop_the_others() -> None:
    def fail(texts: list[str]) -> object:
        raise RuntimeError("no CUDA | here")

    found, failed = throughput.rates({"ours": len, "theirs": fail}, ["a", "b"], rounds=2)
    assert found.keys() == {"ours"}
    assert found["ours"] > 0
    assert failed == {"theirs": "RuntimeError: no CUDA / here"}
    assert throughput.rates({"theirs": fail}, ["a"], rounds=1)[0] == {}


def test_a_row_has_ratios_of_those_who_ran() -> None:
    ours, torch, theirs = throughput.OURS, throughput.TORCH, throughput.THEIRS
    row = throughput.result("8", {ours: 3000.0, torch: 2000.0}, {})
    assert row == (("8", "3,000", "2,000", "not installed", "1.50", ""), "")
    row = throughput.result("8", {ours: 3000.0, torch: 2000.0, theirs: 1000.0}, {})
    assert row.cells[3:] == ("1,000", "1.50", "3.00")


def test_only_our_failure_or_that_of_pytorch_is_an_error() -> None:
    ours, torch, theirs = throughput.OURS, throughput.TORCH, throughput.THEIRS
    row = throughput.result("8", {ours: 1.0, torch: 1.0}, {theirs: "no"})
    assert (row.cells[3], row.error) == ("failed: no", "")
    row = throughput.result("8", {torch: 1.0}, {ours: "no"})
    assert (row.cells[1], row.error) == ("failed: no", "8, ranklet: no")
