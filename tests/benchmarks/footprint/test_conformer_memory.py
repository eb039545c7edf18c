"""The page on memory is made from measured lines."""

from importlib import import_module
from pathlib import Path

import pytest


def test_the_memory_page_says_where_a_line_ends(tmp_path: Path) -> None:
    memory = import_module("benchmarks.footprint.conformer_memory")
    found = {"conformer": [10.0, 20.0, 40.0], "transformer": [10.0, 40.0]}
    page = memory.report((100, 200, 400), found)
    assert "conformer n^1.00, transformer n^2.00" in page
    assert "there its line ends" in page
    pytest.importorskip("matplotlib")
    memory.draw((100, 200, 400), found, tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size
