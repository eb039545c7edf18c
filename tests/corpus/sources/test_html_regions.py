"""What all pages of a site repeat is not searched; where a page does not say so, all of it is."""

from pathlib import Path

import pytest
from tests.corpus.sources.reading import read, write

from ranklet.corpus.sources.html import read_page


def words(page: str) -> str:
    return " ".join(read_page(page, main=True)[1].split())


@pytest.mark.parametrize(
    "page",
    ["<nav>no</nav><main>yes</main><footer>no</footer>",
     "no<div role=main>yes<div></div> <p>yes</div>no".replace("yes<", "<", 1),
     "<header>no</header><p>yes<footer>no</footer>",
     "<div class='a navbar'>no<div>no</div>no</div>yes<div id=footer>no</div>",
     "<main><nav>no</nav>yes<aside role=search>no</aside></main>",
     "<div class='x-cookie-banner y'>no</div><section role=dialog>no</section><div>yes</div>",
     "<main><div id=CookieConsent>no</div>yes</main>",
     "<form><main>yes</main></form>no", "<aside><main>yes</main></aside>no",
     "<article>yes</article>no",
     "<nav><ul><li>no<li>no</ul></nav>yes<NAV>no</NAV>",
     "<div class=sidebar>no<p>no</div>yes", "<ul class='menu'><li>no</ul>yes",
     "<nav>no</div></nav>yes"],
)  # fmt: skip
def test_the_text_of_the_page_itself_is_read(page: str) -> None:
    assert words(page) == "yes"


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<main><header><h1>a</h1></header>b<aside>c</aside><footer>d</footer></main>", "a b c d"),
        ("<article>a</article><nav>no</nav><article><header>b</header></article>", "a b"),
        ("<p>a longer text of the page<article>b</article>", "a longer text of the page b"),
        ("<nav>a</nav>", "a"), ("<main></main><p>a", "a"), ("<header>a <p>b", "a b"),
        ("<main>a<nav>no</nav>b", "a b"), ("a</nav></main>b", "a b"),
        ("<p class=header>a</p><div class='section-header menus'>b</div>", "a b"),
        ("<body class=cookie>a<img class=cookie>b</body>", "a b"),
        ("<h2>one</h2><nav>no</nav>two", "one two"), ("", ""),
    ],
)  # fmt: skip
def test_what_may_be_of_the_page_itself_is_kept(page: str, seen: str) -> None:
    assert words(page) == seen


@pytest.mark.parametrize("unit", ["<nav>", "<main><nav>", "<div role=main></p>", "<div class='a"])
def test_regions_without_an_end_are_read_in_linear_time(unit: str) -> None:
    assert "fine words" in words("<p>fine words</p>" + unit * 5_000)


@pytest.mark.parametrize("unit", [" id=x", " role", " class='a'", " class=\n", " id='"])
def test_tags_of_any_length_are_read_in_linear_time(unit: str) -> None:
    assert words(f"<p>fine words</p><div{unit * 20_000}>").startswith("fine words")


def test_whole_pages_are_an_option(tmp_path: Path) -> None:
    write(tmp_path / "a.html", "<title>A</title><nav>Menu</nav><main>Text</main>")
    assert [each.text for each in read(tmp_path)] == ["Text"]
    assert [each.text for each in read(tmp_path, whole_pages=True)] == ["Menu\n\nText"]
