"""Parts that crash, end too late or print what is no row, and the tables of all."""

import json
from pathlib import Path
from types import ModuleType

import pytest

parts = pytest.importorskip("benchmarks.gpu.parts")
checks = pytest.importorskip("benchmarks.gpu.gpu_checks")

from benchmarks.gpu.setting import Result, Setting  # noqa: E402


def test_rows_of_a_part_that_was_cut_are_kept() -> None:
    whole = json.dumps(Result(("a", "1"), "went wrong"))
    printed = f"{whole}\nsome library's message\n[1, 2, 3]\n5\n{whole[:9]}"
    assert parts.parsed(printed) == [Result(("a", "1"), "went wrong")]


def test_a_table_says_what_failed_and_what_was_skipped() -> None:
    module = ModuleType("part")
    module.HEAD, module.ABOUT = ("what", "ms", "more"), "\n- About it.\n"  # type: ignore[attr-defined]
    part = parts.Part("server", "Server", 0.1)
    outcome = parts.Outcome(part, [Result(("a", "1", "2")), Result(("b", "skipped"))], "it stopped")
    assert parts.section(outcome, module) == (
        "### Server\n\n| what | ms | more |\n|---|--:|--:|\n| a | 1 | 2 |\n| b | skipped |  |\n\n"
        "- **it stopped**\n- About it.\n"
    )
    assert "No row was measured." in parts.section(parts.Outcome(part, []), module)
    assert outcome.errors == []  # a part whose time is up did not fail


def test_failures_stand_at_the_top_of_the_section() -> None:
    part = parts.Part("machine", "Machine", 0.1)
    row = Result(("driver", "**failed**: KeyError"), "driver: KeyError")
    outcome = parts.Outcome(part, [row], "failed: signal 11", failed=True)
    body = checks.report([outcome])
    assert body.startswith(
        "**Failed:**\n\n- Machine: driver: KeyError\n- Machine: failed: signal 11\n\n### Machine\n"
    )
    assert not checks.report([parts.Outcome(part, [])]).startswith("**Failed")


def test_a_part_that_crashes_is_reported(tmp_path: Path) -> None:
    outcome = parts.run_part(parts.Part("no_such_part", "None", 1.0), Setting(tmp_path), 60.0)
    assert outcome.failed
    assert outcome.note == (
        "failed: ModuleNotFoundError: No module named 'benchmarks.gpu.no_such_part'"
    )


def test_a_part_that_ends_too_late_is_stopped(tmp_path: Path) -> None:
    part = parts.Part("parity", "Parity", 1.0)
    outcome = parts.run_part(part, Setting(tmp_path, device="cpu"), 0.01 - parts.GRACE)
    assert (outcome.results, outcome.failed) == ([], False)
    assert outcome.note.startswith("stopped after 0 s")


def test_all_parts_share_less_than_the_whole_time() -> None:
    assert sum(part.share for part in parts.PARTS) == pytest.approx(1)
    longest = checks.MINUTES * 60 + len(parts.PARTS) * parts.GRACE
    assert longest < 600
