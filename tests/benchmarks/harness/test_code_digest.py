from pathlib import Path

import pytest
from benchmarks.harness.code_digest import code_digest

CODE = '''"""What this does."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RATE = 0.1  # of learning


def step(x: float) -> float:
    """Return a step."""
    from itertools import count

    return math.exp(-x) * RATE
'''
# The same without comments, docstrings and blank lines, formatted otherwise, from other modules.
REWORDED = """from other.place import count
import math, json
RATE = (
    .1
)
def step(x: float) -> float: return math.exp( - x ) * RATE
"""


def digest(folder: Path, **sources: str) -> str:
    """Return the digest of files of these names."""
    folder.mkdir(parents=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    return code_digest(folder.rglob("*.py"))


def test_comments_docstrings_imports_and_layout_do_not_count(tmp_path: Path) -> None:
    assert digest(tmp_path / "a", step=CODE) == digest(tmp_path / "b", step=REWORDED)


def test_a_moved_file_and_a_new_package_do_not_count(tmp_path: Path) -> None:
    before = digest(tmp_path / "a", step=CODE, zero="ZERO = 0\n")
    after = digest(tmp_path / "b", z_step=CODE, a_zero="ZERO = 0\n", package='"""New."""\n')
    assert before == after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("math.exp(-x)", "math.exp(x)"),
        ("* RATE", "* RATE + 1"),
        ("def step(x: float)", "def step(x: float = 1)"),
    ],
)
def test_what_changes_a_result_counts(tmp_path: Path, old: str, new: str) -> None:
    assert old in CODE
    assert digest(tmp_path / "a", step=CODE) != digest(tmp_path / "b", step=CODE.replace(old, new))


def test_a_copy_of_a_file_counts(tmp_path: Path) -> None:
    assert digest(tmp_path / "a", step=CODE) != digest(tmp_path / "b", step=CODE, again=CODE)


def test_texts_that_are_values_count(tmp_path: Path) -> None:
    once, twice = 'NAME = "epic"\n', 'NAME = "splade"\n'
    assert digest(tmp_path / "a", name=once) != digest(tmp_path / "b", name=twice)
