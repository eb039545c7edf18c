"""The page needs no script: it shows the answer of POST /rank, and no text leaves its place."""

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from tests.shop import products

from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.look import VIEW, Look
from ranklet.handlers.playground.search_page import FOLDER, error_page, search_page
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.variables import Variable
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Described
    from tests.handlers.conftest import Reply, Server, Start

EVIL = "dough </p></textarea><img src=x onerror=alert(1)><script>alert(1)</script>\"' &amp;"


def shown(bundle: Bundle, **fields: str) -> str:
    return search_page(bundle, Form(fields.items()), Limits(), 1e4).html


class Elements(HTMLParser):
    """The tags and attributes that a browser finds in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.attributes = list[str](), list[tuple[str, str]]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def asked(bundle: Bundle, sent: str) -> str:
    return search_page(bundle, Form.read(sent), Limits(), 1e4).html


def numbers(html: str) -> list[int]:
    return [int(each) for each in re.findall(r'<li class="hit" id="hit-(\d+)"', html)]


def ids(html: str) -> list[str]:
    cards = html.split('<li class="hit"')[1:]
    return [
        unescape(found[1])
        for card in cards
        if (found := re.search(r"<h2[^>]*>(?:<a[^>]*>)?(?:<mark>)?(d\d+)", card))
    ]


OWN = r"(playground/[\w.]+|docs|metrics)$|\./|#results|https://example.org/"


def link(html: str, label: str) -> str:
    (address,) = re.findall(rf'<a href="\./\?([^"]*)"[^>]*>{label}</a>', html)
    return unescape(address)


@pytest.mark.parametrize("where", [{}, {"from.year": "2020"}, {"is.open": "true"}])
def test_pages_follow_each_other_and_are_those_of_a_ranking(
    described: "Described", where: dict[str, str]
) -> None:
    filters: dict[str, Any] = {"from.year": {"year": {">=": 2020}}, "is.open": {"open": True}}
    wanted = described.bundle.rank(
        "bread dough", k=1000, where=filters[next(iter(where))] if where else None
    )
    form, found = Form({"q": "bread dough", **where}.items()), list[str]()
    while True:
        html = search_page(described.bundle, form, Limits(), 1e4).html
        assert numbers(html) == list(range(len(found) + 1, len(found) + 1 + len(ids(html))))
        found += ids(html)
        if "Next →" not in html:
            break
        form = Form.read(link(html, "Next →"))
    assert found == [hit.id for hit in wanted]
    assert len(found) > 10
    back = Form.read(link(html, "← Previous"))
    assert len(ids(search_page(described.bundle, back, Limits(), 1e4).html)) == 10


def test_only_the_hit_that_is_open_is_explained(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    rank = Bundle.rank

    def watched(self: Bundle, *arguments: Any, **options: Any) -> Any:
        asked.append(options["explain"])
        return rank(self, *arguments, **options)

    monkeypatch.setattr(Bundle, "rank", watched)
    html = shown(bundle, q="knead the dough, wash windows, prune roses")
    assert asked == [False]
    assert 'class="why"' not in html
    assert html.count("Why this score?") == len(numbers(html)) > 2
    opened = search_page(
        bundle,
        Form.read(re.findall(r'href="\./\?([^"#]*why=2)#hit-2"', html.replace("&amp;", "&"))[0]),
        Limits(),
        1e4,
    ).html
    assert asked == [False, False, True]
    assert numbers(opened) == numbers(html)
    assert opened.count('class="why"') == 1
    score = re.findall(r'<span class="score">([\d.]+)</span>', opened)[1]
    assert (
        f'<span class="amount">{score}</span>'
        in opened.split('id="hit-2"')[1].split('id="hit-3"')[0]
    )
    assert '<mark class="m' in opened
    assert len(html.encode()) < 20_000


def test_no_text_leaves_its_place(tmp_path: Path) -> None:
    row = {
        "id": EVIL,
        "title": EVIL,
        "text": f"{EVIL} " * 20,
        "kind": EVIL,
        "url": "javascript:alert(1)",
        EVIL[:20]: 3,
    }
    path = build(
        [row, {"id": "b", "text": "dough", "url": 'https://example.org/?a="><script>'}],
        tmp_path / "evil.ranklet",
    )
    for form in ({}, {"why": "1"}, {"text": "2"}, {"is.kind": EVIL}, {"texts": EVIL}, {"k": "1"}):
        html = shown(Bundle(path), q=EVIL, **form)
        elements = Elements(html)
        assert elements.tags.count("script") == 1
        assert elements.tags.count("textarea") == 2
        assert "img" not in elements.tags
        for name, value in elements.attributes:
            assert not name.startswith("on")
            assert name != "style"
            assert name != "href" or re.match(OWN, value)
    assert "<script>" not in error_page(Form([("q", EVIL)]), 422, EVIL)


def test_metadata_are_for_people(tmp_path: Path) -> None:
    row = {
        "id": "a", "title": "Bread", "text": "dough", "made": "2024-05-31", "open": True,
        "tags": ["x", "y"], "url": "https://example.org/bread", "more": "http://example.net/a?b",
    }  # fmt: skip
    html = shown(Bundle(build([row], tmp_path / "x.ranklet")), q="dough")
    assert '<time datetime="2024-05-31">31 May 2024</time>' in html
    assert '<a href="https://example.org/bread" rel="noopener noreferrer">Bread</a>' in html
    assert '<a href="http://example.net/a?b" rel="noopener noreferrer">example.net/a</a>' in html
    for pair in ("<dt>open</dt><dd>yes</dd>", "<dt>tags</dt><dd>x, y</dd>"):
        assert pair in html


def test_no_hits_offers_what_is_near(described: "Described") -> None:
    html = shown(described.bundle, q="braed", typos="off", syntax="on", **{"is.open": "true"})
    assert "No hits for this query." in html
    assert ids(asked(described.bundle, link(html, "bread")))
    assert "Did you mean" in html
    assert link(html, "Read signs as plain words") == "q=braed&typos=off&is.open=true"
    assert link(html, "Show everything") == ""
    total = described.bundle.rank("bread", k=0, facets=[]).total
    html = shown(described.bundle, q="bread", **{"from.year": "2100", "is.category": "z z"})
    assert link(html, f"{total} hits without filters") == "q=bread"


def test_typos_are_corrected_which_can_be_undone(described: "Described") -> None:
    html = shown(described.bundle, q="braed")
    assert "Showing results for “bread”. Search instead for " in html
    assert len(ids(html)) == 10
    html = asked(described.bundle, link(html, "braed"))
    assert (ids(html), "Showing results" in html) == ([], False)
    assert "Did you mean" in html


def test_a_word_that_is_being_typed_is_a_beginning(described: "Described") -> None:
    whole = ids(shown(described.bundle, q="bread"))
    html = shown(described.bundle, q="brea", live="1")
    assert set(ids(html)) & set(whole)
    assert "live" not in link(html, "Next →")
    assert ids(shown(described.bundle, q="braed", live="1")) == whole  # else as a whole one
    opened = re.findall(r'href="\./\?([^"#]*why=2)#hit-2"', html.replace("&amp;", "&"))[0]
    assert ids(asked(described.bundle, opened)) == ids(html)


def test_filters_in_use_are_links_that_remove_them(described: "Described") -> None:
    fields = {"is.open": "true", "from.year": "2020"}
    html = shown(described.bundle, q="bread", **fields)
    found = re.findall(r'<a href="\./\?([^"]*)"><span class="hidden">[^<]*</span>([^<]*)', html)
    assert {unescape(address): said for address, said in found} == {
        "q=bread&from.year=2020": "open: yes",
        "q=bread&is.open=true": "year: from 2020",
    }
    assert link(html, "Clear all") == "q=bread"


@pytest.mark.slow
def test_a_page_for_colleagues(tmp_path: Path) -> None:
    shop = Bundle(build(list(products(160)), tmp_path / "shop.ranklet"))
    look = Look("Laden", plain=True, link="Seite", image="Bild", show=("Preis", "Marke"))
    page = search_page(shop, Form([("q", "wasserkocher")]), Limits(), 1e4, look).html
    assert '<html lang="de">' in page
    assert "<title>wasserkocher · Laden</title>" in page
    assert re.search(r"<dt>Preis</dt><dd>\d+,\d\d</dd></div><div [^>]*><dt>Marke", page)
    for hidden in ('class="score"', 'class="id"', "why=", " ms", "retrieve", "Material</dt>"):
        assert hidden not in page, hidden
    assert page.count('src="https://shop.example/Wasserkocher.svg"') == 10
    assert page.count('href="https://shop.example/artikel/') == 10
    legends = re.findall(r'<legend>(\w+)</legend>(<p class="span">[\d,]+ – [\d,]+)?', page)
    assert [(name, bool(span)) for name, span in legends] == [("Marke", False), ("Preis", True)]
    more = search_page(shop, Form.read(link(page, "Mehr")), Limits(), 1e4, look).html
    assert more.count('name="is.Marke"') > page.count('name="is.Marke"') == 8
    details = Form.read(link(page, "Werte und Erklärungen"))
    assert 'class="score"' in search_page(shop, details, Limits(), 1e4, look).html
    with pytest.raises(InputError, match="cannot show 'Farbe'"):
        Look(show=("Farbe",)).check(shop.metadata)


def test_addresses_of_documents_do_nothing_but_lead(tmp_path: Path) -> None:
    look = Look(link="at", image="at")
    for value, address in (
        ("https://example.org/a", "https://example.org/a"), ("img/a.png", "img/a.png"),
        ("javascript:alert(1)", ""), ("JavaScript:alert(1)", ""), (" javascript:x", ""),
        ("data:text/html,x", ""), ("//evil.example", ""), ("/\\evil.example", ""),
        ("java\tscript:x", ""), ("x:y", ""),
    ):  # fmt: skip
        assert (VIEW._replace(look=look).place({"at": value})) == address, value
        assert (VIEW._replace(look=look).image({"at": value})) == address, value
    row = {"id": "a", "text": "dough", "at": '/"><script>'}
    html = search_page(
        Bundle(build([row], tmp_path / "x.ranklet")), Form([("q", "dough")]), Limits(), 1e4, look
    ).html
    assert [Elements(html).tags.count(each) for each in ("img", "script")] == [1, 1]


def test_every_language_says_everything() -> None:
    english = json.loads((FOLDER / "words.json").read_text("utf-8"))["en"]
    for language, said in json.loads((FOLDER / "words.json").read_text("utf-8")).items():
        assert said.keys() == english.keys(), language
        for name, text in said.items():
            assert text
            if name != "date":
                fields = re.findall(r"{(\w+)}", text)
                assert set(fields) == set(re.findall(r"{(\w+)}", english[name])), (language, name)
        assert len(said["months"].split()) == 12


def boxes(html: str, name: str) -> dict[str, tuple[int, bool]]:
    """Return the count of each value of a field, and whether it is chosen."""
    row = r'value="([^"]*)"[^>]*?( checked)?><span>[^<]*</span><small>([\d,]+)'
    found = re.findall(f'name="is.{name}" {row}', html)
    return {unescape(value): (int(count), bool(chosen)) for value, chosen, count in found}


def written(metadata: Any, name: str) -> set[str]:
    """Return the values of a field as a form has them."""
    value = metadata.get(name, [])
    listed = value if isinstance(value, list) else [value]
    return {str(each).lower() if isinstance(each, bool) else each for each in listed}


@pytest.mark.parametrize("chosen", [{}, {"category": "a"}, {"tags": "ü"}, {"open": "true"}])
def test_filters_count_what_each_would_leave(
    described: "Described", chosen: dict[str, str]
) -> None:
    fields = {f"is.{name}": value for name, value in chosen.items()}
    html = shown(described.bundle, q="bread dough", **fields)
    matching = [hit.metadata for hit in described.bundle.rank("bread dough", k=1000)]
    for field in ("category", "tags", "open"):
        others = {name: value for name, value in chosen.items() if name != field}
        left = [m for m in matching if all(v in written(m, n) for n, v in others.items())]
        wanted = Counter(value for each in left for value in written(each, field) if value)
        found = boxes(html, field)
        assert {value: count for value, (count, _) in found.items()} == dict(wanted)
        assert {value for value, (_, on) in found.items() if on} == {*chosen.values()} & {*found}


def test_hits_are_sorted_over_all_pages(described: "Described") -> None:
    wanted = described.bundle.rank("bread dough", k=1000, sort=["-due"])
    html = shown(described.bundle, q="bread dough", sort="-due", page="2")
    assert ids(html) == [hit.id for hit in wanted[10:20]]
    assert f"Hits 11 to 20 of {wanted.total} in" in html
    request = json.loads(unescape(html.split("POST /rank")[1].split("</pre>")[0]))
    assert (request["query"], request["sort"], request["offset"]) == ("bread dough", ["-due"], 10)
    assert "retrieve" in html
    assert '<option value="-due" selected>due, newest first</option>' in html


def page_of(server: "Server", headers: Any = None, **fields: str) -> "Reply":
    return server.ask("GET", f"/?{urlencode(fields)}", headers=headers or {})


def test_what_the_page_cannot_show_it_says(server: "Server") -> None:
    for fields, status, said in (
        ({"page": "0"}, 422, "whole number from 1"),
        ({"k": "many"}, 422, "&#x27;k&#x27; must be a whole number"),
        ({"pipelin": "x"}, 422, "did you mean"),
        ({"page": "200"}, 422, "offset"),
        ({"pipeline": "none"}, 404, "none"),
    ):
        reply = page_of(server, q="dough", **fields)
        assert (reply.status, reply.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert said in reply.body.decode()
        assert "default-src 'none'" in reply.headers["content-security-policy"]


def test_own_texts_are_posted(server: "Server") -> None:
    body = urlencode({"q": "dough", "texts": "wash the windows\nknead the dough"}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    reply = server.ask("POST", "/", body, form)
    assert reply.status == 200
    first = reply.body.decode().split('id="hit-1"')[1].split('id="hit-2"')[0]
    assert 'class="why"' in first
    assert "knead" in first
    assert server.ask("POST", "/", b"{}").status == 415


def test_the_page_shows_only_what_a_key_opens(start: "Start", tmp_path: Path) -> None:
    rows = [
        {"id": f"{who}-{at}", "text": f"a plan of {who}", "tenant": who}
        for who in ("us", "them")
        for at in range(3)
    ]
    path = build(rows, tmp_path / "tenants.ranklet")
    with start(
        path, **{Variable.API_KEY_FILTERS: json.dumps({"ours": {"tenant": "us"}})}
    ) as server:
        page = page_of(server, {"x-api-key": "ours"}, q="plan of them").body.decode()
        assert "3 documents" in page
        assert len(numbers(page)) == 3
        assert "them-" not in page
        assert 'id="key" class="key" hidden' in page
        closed = page_of(server, {"accept-language": "de"}, q="plan")
        assert closed.status == 401
        assert 'value="plan"' in closed.body.decode()
        assert "Bitte den Schlüssel eingeben" in closed.body.decode()
        assert "Authorization" not in closed.body.decode()
        wrong = page_of(server, {"x-api-key": "theirs"}, q="plan").body.decode()
        assert "This key does not open this search." in wrong
        welcome = server.ask("GET", "/")
        assert welcome.status == 200
        assert "documents" not in welcome.body.decode().split("<main>")[0]
        assert 'id="key" class="key" >' in welcome.body.decode()


def test_the_least_and_the_most_are_counted_beside_the_values(
    described: "Described", monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rank = list[Any](), Bundle.rank

    def noted(*arguments: Any, **options: Any) -> Any:
        asked.append(options)
        return rank(*arguments, **options)

    monkeypatch.setattr(Bundle, "rank", noted)
    spans = [
        re.search(
            r"<legend>year</legend><p class=\"span\">([^<]*)", shown(described.bundle, **form)
        )
        for form in ({"q": "bread"}, {"q": "bread", "from.year": "2022"})
    ]
    assert [each and each[1] for each in spans] == ["2018 – 2023"] * 2
    assert len(asked) == 1 + 2
