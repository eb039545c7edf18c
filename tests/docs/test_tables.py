"""Tables of the pages that users read first: short cells, and advice that fits on two screens."""

import re

import pytest
from tests.docs.pages import FENCE, ROOT

PAGES = ("README.md", "docs/choosing-a-ranker.md")
USERS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CELL, LINES, WIDTH = 120, 90, 100  # at most


def shown(page: str) -> list[str]:
    """Return a page's lines as they are read: without blocks of code and targets of links."""
    text = FENCE.sub("", (ROOT / page).read_text("utf-8"))
    return LINK.sub(r"\1", text).splitlines()


@pytest.mark.parametrize("page", [*PAGES[:1], *USERS])
def test_no_cell_is_a_paragraph(page: str) -> None:
    rows = [line for line in shown(page) if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    assert [cell for cell in cells if len(cell) > CELL] == []


@pytest.mark.parametrize("page", PAGES[1:])
def test_a_cell_of_figures_has_one(page: str) -> None:
    # An arrow between figures, or several of them, belongs into rows of their own.
    figures = re.compile(r"(?:^|\s)[+−]?\.\d{2,3}\S*")
    for row in (line for line in shown(page) if line.startswith("|")):
        for cell in re.split(r"(?<!\\)\|", row):
            assert len(figures.findall(cell)) <= 1 or " to " in cell, row


def test_choosing_a_ranker_fits_on_two_screens() -> None:
    text = "\n".join(shown("docs/choosing-a-ranker.md"))
    lines = text.split("## Speed and size")[0].splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > WIDTH] == []
