"""The documentation as web pages: a strict build has no warning, and no link in it is broken."""

import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.pages import ROOT

import ranklet
from ranklet import runtime
from ranklet.runtime.kinds import KINDS

BUILD = ROOT / "docs" / "site" / "build.py"


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if name := values.get("id"):
            self.anchors.add(name)
        if tag == "a" and (target := values.get("href")):
            self.links.append(target)
        elif tag == "link" and values.get("rel") == "canonical":
            return
        elif target := values.get("src") or (values.get("href") if tag == "link" else None):
            self.loads.append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site") / "docs"
    done = subprocess.run(
        [sys.executable, str(BUILD), str(folder)],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "griffe: " not in done.stdout + done.stderr  # its warnings do not end a strict build
    return folder / "html"


def test_each_page_is_in_the_navigation_once() -> None:
    made: dict[str, Any] = runpy.run_path(str(BUILD))
    places = made["pages"]()
    assert len(places) > 25
    made["check_navigation"](places)
    for wrong in (dict(list(places.items())[1:]), places | {Path("more.md"): "more.md"}):
        with pytest.raises(SystemExit, match="and the pages differ"):
            made["check_navigation"](wrong)


def test_llms_txt_has_each_page_with_what_it_says_first() -> None:
    made: dict[str, Any] = runpy.run_path(str(BUILD))
    places = made["pages"]()
    text: str = made["llms"](places)
    assert text.startswith("# ranklet\n\n> ")
    assert text.count("\n- [") == len(places)
    assert "\n## Begin\n\n- [Installing](https://" in text
    assert "languages.html): `" not in text  # no marks of Markdown
    assert "[HTTP server](https://" in text
    one = made["first_sentence"]("# A\n\n```sh\nls\n```\n\nThis *is* [one](b.md). And more.")
    assert one == "This is one."


@pytest.mark.slow
def test_images_are_shown(site: Path) -> None:
    shown = {load for path in site.rglob("*.html") for load in Page(path.read_text("utf-8")).loads}
    for image in (*(ROOT / "docs").glob("*.png"), *(ROOT / "docs").glob("*.svg")):
        assert any(load.endswith(image.name) for load in shown), image.name


@pytest.mark.slow
def test_no_link_of_the_built_pages_is_broken_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 25
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a host
            continue
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert link not in page.loads, f"{path.name} loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].anchors if target in pages else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.slow
def test_lists_and_tables_are_not_shown_as_text(site: Path) -> None:
    # Code-hosting sites need no empty line before them, but Markdown's rules for these pages do.
    shown = re.compile(r"^(?:<p>)?(?:- |\|-).*", re.MULTILINE)
    code = re.compile(r"<pre.*?</pre>", re.DOTALL)
    found = {
        path.name: line[0]
        for path in site.rglob("*.html")
        if (line := shown.search(code.sub("", path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.slow
def test_the_reference_is_complete(site: Path) -> None:
    def anchors(page: str) -> set[str]:
        return Page((site / "api" / f"{page}.html").read_text("utf-8")).anchors

    assert {f"ranklet.runtime.{name}" for name in runtime.__all__} <= anchors("runtime")
    assert {f"ranklet.{name}" for name in ranklet.__all__ if name[0] != "_"} <= anchors("ranklet")
    training = "ranklet.training.rankers"
    trainings = {f"{training}.{kind}.training.train" for kind in KINDS}
    options = {f"{training}.{kind}.options.Options" for kind in KINDS}
    assert trainings | options <= anchors("training")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("ranklet", "ranklet.build"),
        ("runtime", "ranklet.runtime.Bundle.rank"),
        ("training", "ranklet.training.rankers.dense.training.train"),
        ("export", "ranklet.export.bundles.export_bundle"),
        ("handlers", "ranklet.handlers.aws_lambda.start"),
    ],
)
def test_the_reference_has_what_the_code_has(site: Path, page: str, name: str) -> None:
    text = (site / "api" / f"{page}.html").read_text("utf-8")
    assert name in Page(text).anchors
    assert "doctest:" not in text
    assert ":class:" not in text
