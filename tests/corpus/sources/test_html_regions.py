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
     "<div id=CookieConsent>no</div><div class='cookie-law-info-bar'>no</div>yes",
     "yes<div id=onetrust-consent-sdk>no</div><dialog open class=cookie_notice>no</dialog>",
     "<dialog>no</dialog><dialog open>yes</dialog>",
     "<form><main>yes</main></form>no", "<aside><main>yes</main></aside>no",
     "<article>yes</article>no", "<div class=menu role=article>yes</div>no",
     "<nav><ul><li>no<li>no</ul></nav>yes<NAV>no</NAV>",
     "<div class=sidebar>no<p>no</div>yes", "<ul class='menu'><li><a>no</a>;</ul>yes",
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
        # Names of boxes in an article, and names that have such a word in them.
        ("<main><div id=cookie-banner>a</div><ul class=menu><a>b</a></ul></main>", "a b"),
        ("<article><div class=page-header>a</div><div id=sidebar>b</div></article>", "a b"),
        ("<div class='chocolate-chip-cookies'>a</div><section id=cookies>b</section>", "a b"),
        ("<div class=informed-consent>a</div><table class=cookie-attributes><td>b</table>", "a b"),
        ("<div id=cookie-bars>a</div><div class=has-cookie-banner>b</div>", "a b"),
        ("<div class='content sidebar'>a</div><div class='entry header'>b</div>", "a b"),
        # A restaurant's menu is no menu of links.
        ("<div id=menu>Soups<p><a>a</a> leek 5 €<nav>no</nav></div>b", "Soups a leek 5 € b"),
        ("<section class=main-menu><p>a<button>b</button></section>", "a b"),
        ("<main><dialog open>a</dialog><dialog>no</dialog><div hidden>b</div></main>", "a b"),
        # Documentation: Sphinx, MkDocs, Docusaurus.
        ("<div class=body role=main><section id=cookies><h1>a</h1></section></div>", "a"),
        ("<main class=md-main><div class=md-sidebar><nav>no</nav></div><article>a</article></main>",
         "a"),
        ("<main><nav>no</nav><article><header><h1>a</h1></header>b</article></main>", "a b"),
    ],
)  # fmt: skip
def test_what_may_be_of_the_page_itself_is_kept(page: str, seen: str) -> None:
    assert words(page) == seen


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Wool</title><header><h1>Socks</h1></header><p>a", "Socks – Wool"),
        ("<title>Wool</title><div class=page-header><h3>Socks</h3></div><p>a", "Socks – Wool"),
        ("<title>Wool</title><h1>Socks</h1><article>a longer text</article>", "Socks – Wool"),
        ("<title>Socks | Wool</title><header><h1>Socks</h1></header><p>a", "Socks | Wool"),
        ("<title>Wool</title><main><h1>Socks</h1></main>", "Wool"),
        ("<title>Wool</title><header><h1>Knit</h1></header><h1>Socks</h1>", "Wool"),
        ("<title>Wool</title><header><h2>One</h2><h2>Two</h2></header><p>a", "Wool"),
        ("<title>Wool</title><p>a<h2>Socks</h2>", "Wool"),
        ("<title>Wool</title><div id=cookie-banner><h2>Cookies</h2></div><p>a", "Wool"),
        ("<title>Wool</title><header><nav><h2>Menu</h2></nav></header><p>a", "Wool"),
        ("<header><h1>Socks</h1></header><p>a<h2>Heel</h2>", "Socks"),
        ("<main><h1>Socks</h1>a</main>", "Socks"), ("<h2>One</h2><h2>Two</h2>", ""),
    ],
)  # fmt: skip
def test_the_only_heading_of_a_page_is_in_its_title(page: str, title: str) -> None:
    assert read_page(page, main=True).title == title


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
