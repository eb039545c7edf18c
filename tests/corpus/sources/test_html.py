"""Pages are read as readers see them, whatever is wrong with them, in linear time."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.sources.reading import read, write

from ranklet.corpus.sources.html import read_page
from ranklet.runtime.ground.errors import CollectionError


def words(page: str) -> list[str]:
    return read_page(page)[1].split()


@pytest.mark.parametrize(
    "tag",
    ["summary", "details", "option", "button", "label", "legend", "figcaption", "dt", "dd", "td",
     "th",
     "caption", "p", "div", "li", "h1", "h6", "address", "nav", "main", "dialog", "menu",
     "optgroup",
     "textarea", "my-card", "center", "tbody", "fieldset", "output", "hgroup", "search"],
)  # fmt: skip
def test_other_elements_than_those_inside_of_words_separate_words(tag: str) -> None:
    assert words(f"<{tag}>one</{tag}><{tag}>two</{tag}>three") == ["one", "two", "three"]


@pytest.mark.parametrize("tag", ["br", "hr", "img", "input", "BR", "p", "option"])
def test_an_element_without_an_end_separates_words(tag: str) -> None:
    assert words(f"one<{tag}>two<{tag}/>three") == ["one", "two", "three"]


@pytest.mark.parametrize(
    "tag", ["b", "em", "span", "a", "sub", "mark", "code", "wbr", "font", "STRONG"]
)
def test_elements_inside_of_words_do_not_separate_them(tag: str) -> None:
    assert words(f"<{tag}>o</{tag}>ne t<{tag} class='x'>w</{tag}><!-- -->o") == ["one", "two"]


@pytest.mark.parametrize(
    "hidden",
    ["<script>if (a<b) x('</p>')</script>", "<style>p {}</style>", "<template><p>x</template>",
     "<!-- x -->", "<!-->", "<!doctype html>", "<?php x ?>", "<noscript>x</noscript>", "</ x>",
     "</>",
     "<SCRIPT src=x></Script >", "<iframe>x</iframe>", "<svg><title>x</title><desc>x</desc></svg>",
     "<title>x</title>", "<script/>", "<svg><style>x</style><p></svg>", "<!x[y]]>",
     "<a b='>x>'></a>",
     "<template><template></template>x</template>", '<a title="<b>x</b>"></a>', "<svg/>",
     "<style></styl>x</style>"],
)  # fmt: skip
def test_what_readers_do_not_see_is_no_text(hidden: str) -> None:
    assert words(f"one {hidden} two") == ["one", "two"]


def test_texts_of_a_drawing_are_seen() -> None:
    drawing = (
        "<svg><title>no</title>no<g><text>one</text><text>two<tspan>s</tspan></text></g></svg>"
    )
    assert words(f"a{drawing}b") == ["a", "one", "twos", "b"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<title>Cats &amp;\nmore</title>", ("Cats & more", "")),
        ("<title>Cats<p>They sleep.", ("Cats", "They sleep.")),
        ("<svg><title>Menu</title></svg><title>Cats</title>", ("Cats", "")),
        ("<p>a &lt; b &copy &#x41; &nbsp;c &unknown; &", ("", "a < b © A c &unknown; &")),
        ("&#99999999999999999999;x&#xffffffffff;", ("", "\ufffdx\ufffd")),
        ("1 < 2 <3 <é> </", ("", "1 < 2 <3 <é>")),
        ("<p>wo\0rd", ("", "word")),
        ("<![CDATA[a <b> c]]>d", ("", "a <b> cd")),
        ("<p>one<a href='x>y'>two</a", ("", "onetwo")),
        ('<p>one<a href="x>two<p>three', ("", "onetwo\nthree")),
        ("<noscript><p>one", ("", "one")),
        ("<svg><noscript></svg><p>one", ("", "one")),
        ("<svg><p>one", ("", "one")),
        ("<p>one<script>x", ("", "one")),
        ("<table><td>a<table><tr><td>b</table>c", ("", "a\n\nb\nc")),
        ("<textarea><b>a</textarea>b", ("", "<b>a\nb")),
        ("<TITLE lang=de>A</TiTle >b", ("A", "b")),
        ("", ("", "")),
    ],
)
def test_broken_pages_are_read_as_browsers_read_them(page: str, expected: tuple[str, str]) -> None:
    assert read_page(page)[:2] == expected


@pytest.mark.parametrize(
    "unit",
    ["<a ", "<div>", "</span>", "<b id=1>", "<!--", "<![CDATA[", "<", "&", "&a", "<a b='",
     '<a b="', "</ ",
     "<svg>", "<template>", "<title>", "<title", "<textarea>", "<script>", "</p>", "<svg><p>",
     "a=1 ",
     "<!--x-->", "<noscript>", "<iframe>", "<?", "<!", "=", "\n", "&#9", "\0"],
)  # fmt: skip
def test_what_is_repeated_without_an_end_hides_nothing_before_it(unit: str) -> None:
    title, text, _ = read_page("<title>Good page</title><p>fine words</p>" + unit * 20_000)
    assert title == "Good page"
    assert text.startswith("fine words")


def test_descriptions_of_images_are_read() -> None:
    page = (
        "a<img alt='one \"two\"' src=x>b<img src=y/>c<img title=\"alt='no'\">d<img ALT=x&amp;y />"
    )
    assert words(page) == ["a", "one", '"two"', "b", "c", "d", "x&y"]


def test_preformatted_text_keeps_its_spaces() -> None:
    page = "<p> a  b<pre class=x>\ndef f():\n\treturn  <b>1</b> \n</pre> c"
    assert read_page(page)[1] == "a b\n\ndef f():\n    return  1\n\nc"


@pytest.mark.parametrize(
    "ruby",
    [
        "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>を読む",
        "<ruby>漢<rt>かん<rb>字<rt>じ</ruby>を読む",
        "<ruby>漢字<rt>かんじ</rt></ruby>を読む",
    ],
)
def test_readings_of_a_word_stand_behind_its_line(ruby: str) -> None:
    assert read_page(f"<p>{ruby}<p>次")[1] == "漢字を読む かんじ\n次"
    assert read_page(ruby)[1] == "漢字を読む かんじ"


@settings(max_examples=100, deadline=None)
@given(page=st.text(alphabet="<>!-[]&#;/ aptilesvgx=\"'\n\0", max_size=80))
def test_any_page_is_read(page: str) -> None:
    read_page(page)


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="windows-1251">', "windows-1251"),
        ("<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "cp932"),
        ('<?xml version="1.0" encoding="KOI8-R"?>', "koi8-r"),
        ("<meta charset=iso-2022-jp>", "iso-2022-jp"),
    ],
)
def test_a_page_says_its_encoding(tmp_path: Path, declaration: str, encoding: str) -> None:
    letters = "Привет" if encoding in ("windows-1251", "koi8-r") else "日本語"
    write(tmp_path / "a.html", f"{declaration}<p>{letters}", encoding)
    assert [each.text for each in read(tmp_path)] == [letters]


def test_a_page_in_utf_8_is_so_whatever_it_says(tmp_path: Path) -> None:
    write(tmp_path / "a.html", "<meta charset=iso-8859-1><p>é")
    write(tmp_path / "b.html", "<meta charset=iso-8859-1><p>“é”", "cp1252")
    assert [each.text for each in read(tmp_path)] == ["é", "“é”"]


@given(
    st.lists(
        st.sampled_from(
            [
                "<h2>",
                "</h2>",
                "<h3 id=x>",
                "</h3>",
                "<p>",
                "a b",
                " ",
                "\n",
                "<br>",
                "<pre>",
                "</pre>",
                "\x01",
                "<li>c",
            ]
        )
    )
)
def test_headings_stand_in_the_text_which_has_no_marks(pieces: list[str]) -> None:
    page = read_page("".join(pieces))
    other = "".join(pieces).replace("<h2>", "<p>").replace("<h3 id=x>", "<p>")
    assert page.text == read_page(other.replace("</h2>", "</p>").replace("</h3>", "</p>")).text
    for start, level, words in page.headings:
        assert page.text[start:].split("\n")[0] == words != ""
        assert level in (2, 3)


def test_a_page_of_too_many_headings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklet.corpus.sources.html.HEADINGS", 2)
    assert len(read_page("<h1>a</h1><h2>b</h2>words").headings) == 2
    with pytest.raises(CollectionError, match="has 3 headings, and 2 are read; divide it"):
        read_page("<h1>a</h1><h2>b</h2><h2>c</h2>words")


@pytest.mark.parametrize(
    "link",
    [
        '<a class="headerlink" href="#tls" title="Link to this heading">Permalink</a>',
        '<a href="#tls">¶</a>', '<a class="mark" href="#tls" id="tls"> # </a>',
        '<a href="#tls"><span>🔗</span></a>',
    ],
)  # fmt: skip
def test_permalinks_of_headings_are_no_words(link: str) -> None:
    page = read_page(f"<h2>TLS (SSL){link}</h2><p>Use <a href='#c'>C#</a> or <a>#1</a>.</p>")
    assert page.text == "TLS (SSL)\n\nUse C# or #1."
    assert [each.text for each in page.headings] == ["TLS (SSL)"]
