"""Settings as text, and items of which some fail or come too late."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

setting = pytest.importorskip("benchmarks.gpu.setting")


def test_a_setting_is_the_same_after_its_way_through_text() -> None:
    given = setting.Setting(Path("/work"), device="cpu", batches=(1, 2), until=12.5)
    assert setting.Setting.from_json(given.to_json()) == given


def measure(name: str, item: int) -> Iterator[object]:
    yield setting.Result((name, str(1 / item)))


def test_an_item_that_fails_hides_no_other() -> None:
    given = setting.Setting(Path())
    first, second, third = setting.attempts(given, [("a", 1), ("b", 0), ("c", 2)], measure)
    assert first == setting.Result(("a", "1.0"))
    assert second.cells == ("b", "**failed**: ZeroDivisionError: division by zero")
    assert second.error == "b: ZeroDivisionError: division by zero"
    assert third == setting.Result(("c", "0.5"))


def test_what_comes_too_late_is_skipped() -> None:
    given = setting.Setting(Path(), until=perf_counter() - 1)
    (row,) = setting.attempts(given, [("a", 1)], measure)
    assert row == setting.Result(("a", setting.SKIPPED))


def test_the_last_line_of_a_message_fits_into_a_table() -> None:
    assert setting.last_line("Traceback\n  here\nValueError: a | b\n\n") == "ValueError: a / b"
    assert setting.last_line("\n") == "no message"
    assert len(setting.last_line("x" * 1000)) == 300
