"""The benchmark of MCP servers starts a real one, and its section says whether the goal is met."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.mark.slow
def test_a_server_is_started_and_its_answer_checked(built: "Built") -> None:
    benchmark = import_module("benchmarks.footprint.assistant_starts")
    command = [sys.executable, "-m", "ranklet", "mcp", str(built.fused)]
    contender = benchmark.Contender(command, "search", {"query": "knead the dough"}, {})
    start = benchmark.started(contender, "dough")
    assert 0 < start.first <= start.answer
    assert start.processor > 0
    with pytest.raises(RuntimeError, match="ranklet"):
        benchmark.started(contender, "a word that no text has")
    with pytest.raises(RuntimeError, match="isError"):
        benchmark.started(contender._replace(arguments={}), "query")


def test_the_section_says_whether_the_goal_is_met() -> None:
    benchmark = import_module("benchmarks.footprint.assistant_starts")
    starts = {"ranklet mcp": [benchmark.Start(200, 300, 250), benchmark.Start(210, 310, 260)]}
    section = benchmark.report(starts, [{"numpy": 50.0}, {"numpy": 70.0}])
    assert "| ranklet mcp | 205 | 305 | 255 |" in section
    assert "| numpy | 60 |" in section
    assert "**305 ms**, met." in section
    slow = {"ranklet mcp": [benchmark.Start(500, 600, 550)]}
    assert "missed" in benchmark.report(slow, [{"numpy": 50.0}])
