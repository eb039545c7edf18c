"""Every section of results stands on its subject's page, and has its line in the index."""

import re

from benchmarks import BENCHMARKS
from tests.docs.pages import ROOT

FOLDER = ROOT / "benchmarks"
SECTION = re.compile(r"^## (\w+)$", re.MULTILINE)
LINE = re.compile(r"^\| .+\? \| .+\. \| \[(\w+)\]\((\S+?)#\S+\) \|$", re.MULTILINE)


def test_a_question_has_one_line_with_its_answer_and_its_section() -> None:
    pages = (FOLDER / "results").glob("*.md")
    sections = {
        (name, page.relative_to(FOLDER).as_posix())
        for page in pages
        for name in SECTION.findall(page.read_text("utf-8"))
    }
    lines = LINE.findall((FOLDER / "RESULTS.md").read_text("utf-8"))
    assert len(lines) == len(sections) > 20
    assert set(lines) == sections  # a new section needs a line in RESULTS.md


def test_a_section_stands_on_the_page_of_its_subject() -> None:
    for page in (FOLDER / "results").glob("*.md"):
        for name in SECTION.findall(page.read_text("utf-8")):
            assert BENCHMARKS[name] == page.stem, name
    archived = re.findall(
        r"^\| `(\w+)` \|", (FOLDER / "archive.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(archived) > 50
    assert not set(archived) & set(BENCHMARKS)
