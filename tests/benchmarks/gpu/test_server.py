"""The row of a server's answers."""

import pytest

server = pytest.importorskip("benchmarks.gpu.server")


def test_a_row_has_rate_times_and_errors() -> None:
    row = server.row("4", [0.001] * 99 + [0.101], 0, 2.0)
    assert row.cells == ("4", "50", "1.00", "2.00", "0")
    assert row.error == ""


def test_wrong_answers_are_a_failure() -> None:
    row = server.row("4", [0.001, 0.001], 1, 1.0)
    assert row.cells[4] == "1"
    assert row.error == "4 clients: 1 of 2 requests failed"
