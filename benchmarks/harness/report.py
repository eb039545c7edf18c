"""Sections of RESULTS.md: tables, the line that says how they were made, and their replacement."""

import os
import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import BENCHMARKS
from benchmarks.harness.place import ROOT

RESULTS = ROOT / "benchmarks" / "results"  # a page for each subject
ALWAYS = ("numpy",)  # packages whose versions every section names


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers.

    >>> print(table(["what", "ms"], [["ours", 1]]))
    | what | ms |
    |---|--:|
    | ours | 1 |
    """
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    made = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    made[1] = made[1].replace(" ", "")
    return "\n".join(made)


def goal(what: str, reached: float, most: float, unit: str = "ms") -> str:
    """Return a line that says whether a goal is met."""
    verdict = "met" if reached <= most else "**missed**"
    return f"- Goal: {what} ≤ {most:g} {unit}: **{reached:.3g} {unit}**, {verdict}."


def goal_at_least(what: str, reached: float, least: float, unit: str = "×") -> str:
    """Return a line that says whether a goal that is a lower bound is met."""
    verdict = "met" if reached >= least else "**missed**"
    return f"- Goal: {what} ≥ {least:g} {unit}: **{reached:.3g} {unit}**, {verdict}."


def section(name: str, title: str, body: str, packages: Sequence[str]) -> str:
    """Return a benchmark's section, with how it was made."""
    versions = ", ".join(f"{each} {_version(each)}" for each in (*ALWAYS, *packages))
    made = (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {describe_commit()}, {processor()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, {versions}"
    )
    return f"## {name}\n\n{title}.\n\n{body.strip()}\n\n{made}\n"


def write(name: str, content: str) -> Path:
    """Put a benchmark's section into the page of its subject; return the page."""
    subject = BENCHMARKS[name]
    page = RESULTS / f"{subject}.md"
    text = page.read_text("utf-8") if page.is_file() else f"# {subject}\n"
    page.write_text(put(text, name, content), "utf-8")
    return page


def put(text: str, name: str, content: str) -> str:
    """Return a page with a section replaced, or added in the order of `BENCHMARKS`."""
    begin, end = _markers(name)
    marked = f"{begin}\n{content}\n{end}\n"
    if begin in text:
        before, rest = text.split(begin, 1)
        return before + marked + rest.split(end, 1)[1].removeprefix("\n")
    names = list(BENCHMARKS)
    for later in names[names.index(name) + 1 :]:
        following = _markers(later)[0]
        if following in text:
            return text.replace(following, f"{marked}\n{following}")
    return f"{text.rstrip()}\n\n{marked}"


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe_commit() -> str:
    """Return the commit of the code that measures, and whether it has other changes."""
    found = _git("rev-parse", "--short", "HEAD")
    # What was measured is the library and this folder; other people's edits elsewhere are not.
    folders = ("runtime", "corpus", "training", "export", "src", ":(glob)benchmarks/**/*.py")
    changed = _git("status", "--porcelain", "--", *folders)
    return f"{found} with uncommitted changes" if found and changed else found or "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def processor() -> str:
    """Return the processor's name; Linux alone says it in a file."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
