"""A section is written to its subject's page, in the order of the benchmarks."""

import re
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
        page = report.write(name, f"## {name}\n\nold")
    report.write(first, f"## {first}\n\nnew")
    assert page == tmp_path / "speed.md"
    text = page.read_text("utf-8")
    assert re.findall(r"^## (\w+)\n\n(\w+)$", text, re.MULTILINE) == [
        (first, "new"), (second, "old"), (third, "old"),
    ]  # fmt: skip
    assert text.startswith("# speed\n")
    assert list(tmp_path.iterdir()) == [page]
