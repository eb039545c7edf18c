"""A section is written to its subject's page, in the order of the benchmarks."""

from pathlib import Path

import pytest
from benchmarks import BENCHMARKS
from benchmarks.harness import report


def test_sections_stand_in_order_and_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    first, second, third = [name for name, subject in BENCHMARKS.items() if subject == "speed"][:3]
    for name in (third, first, second):
        page = report.write(name, f"## {name}: old")
    report.write(first, f"## {first}: new")
    assert page == tmp_path / "speed.md"
    text = page.read_text("utf-8")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        f"{first}: new", f"{second}: old", f"{third}: old",
    ]  # fmt: skip
    assert text.startswith("# speed\n")
    assert list(tmp_path.iterdir()) == [page]
