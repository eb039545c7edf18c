"""Pages of Markdown: their links, their headings and their blocks of code."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


class Block(NamedTuple):
    """A block of code on a page, with the number of its first line."""

    language: str
    code: str
    line: int


def pages() -> list[Path]:
    """Return every page of the repository."""
    folders = (ROOT / name for name in ("docs", "benchmarks", "infra", "tests"))
    return sorted([*ROOT.glob("*.md"), *(page for each in folders for page in each.rglob("*.md"))])


def blocks(text: str) -> list[Block]:
    """Return the blocks of code of a page, in order."""
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in FENCE.finditer(text)
    ]


def links(text: str) -> list[str]:
    """Return the targets of a page's links and pictures, except those to other sites."""
    targets = LINK.findall(FENCE.sub("", text))
    return [each for each in targets if not each.startswith(("http://", "https://", "mailto:"))]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as code-hosting sites and built pages do."""
    names = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        names.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return names
