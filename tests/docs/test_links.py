"""Links between the pages of the repository, as a code-hosting site follows them."""

import re

import pytest
from tests.docs.pages import ROOT, anchors, links, pages


def broken(text: str, page: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    folder = (ROOT / page).parent
    found = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = (folder / path).resolve() if path else ROOT / page
        there = target.is_relative_to(ROOT) and target.exists()
        if not there or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


def test_every_link_between_pages_leads_somewhere() -> None:
    names = [page.relative_to(ROOT).as_posix() for page in pages()]
    assert {"README.md", "docs/your-own-data.md", "benchmarks/RESULTS.md"} <= set(names)
    found = {name: broken((ROOT / name).read_text("utf-8"), name) for name in names}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "link", ["docs/none.md", "docs/serving.md#no-such-heading", "#none", "../outside.md"]
)
def test_a_broken_link_is_found(link: str) -> None:
    good = "[a](docs/serving.md#routes) [b](docs/playground.png) [c](https://example.org/none)"
    assert broken(f"{good} [d]({link})", "README.md") == [link]


def test_users_find_their_pages_before_those_of_maintainers() -> None:
    order = links((ROOT / "README.md").read_text("utf-8"))
    first = min(i for i, link in enumerate(order) if "maintainers/" in link or "CONTRIB" in link)
    users = [i for i, link in enumerate(order) if re.fullmatch(r"docs/[\w-]+\.md(#.*)?", link)]
    assert users
    assert max(users) < first


NUMBERED = re.compile(r"[Pp]apers?[ _]00\d|\b00[0-4], (?:§|eq|ch)")


def test_papers_are_cited_by_name_and_not_by_number() -> None:
    suffixes = {".md", ".py", ".html", ".js"}
    folders = (
        "runtime",
        "corpus",
        "training",
        "export",
        "handlers",
        "src/ranklet/commands",
        "benchmarks",
    )
    files = [*pages(), *(each for name in folders for each in (ROOT / name).rglob("*"))]
    found = [
        f"{path.relative_to(ROOT)}: {cited[0]}"
        for path in files
        if path.suffix in suffixes and (cited := NUMBERED.search(path.read_text("utf-8")))
    ]
    assert found == []
    assert NUMBERED.search("as in paper 004, eq. 6")
