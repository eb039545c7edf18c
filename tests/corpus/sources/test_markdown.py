"""Markdown is read as its readers see it: CommonMark, and what generators of sites add to it."""

import pytest

from ranklet.corpus.sources.markdown import read_markdown


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# A", "A"), ("   ## A ##", "A"), ("###### A", "A"), ("A\n===", "A"),
        ("A\nb\n---", "A b"),
        ("#\tA", "A"), ("# A #b", "A #b"),
        ("# *A* `b` [c](d) ![e](f) &amp; <b>g</b>", "A b c e & g"),
        ("#\n# A", "A"), ("# \\# A", "# A"),
    ],
)  # fmt: skip
def test_headings_of_every_form_are_titles(heading: str, title: str) -> None:
    found, text, _ = read_markdown(f"{heading}\n\nText.")
    assert found == title
    assert text.endswith("Text.")
    assert "A" not in text


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Install<br>guide", "Install guide"),
        ("# The H<sub>2</sub>O <b>p</b>ump", "The H2O pump"),
        ("# [Widget][home]", "Widget"), ("[Widget] tools\n===", "Widget tools"),
        ("# A&nbsp;B {#my_anchor .x}", "A B"), ("# A {: #b}", "A"), ("A {#b}\n---", "A"),
        ('<h1 align="center">A</h1>', "A"), ('<h1 align="center">\n\nA\n\n</h1>', "A"),
        ('<div align="center">\n  <img src="x">\n  <h2>A <i>b</i></h2>\n</div>', "A b"),
        ("# ![A](logo.png)", "A"), ("<h1><img alt='A' src=x></h1>", "A"),
        ('# <a name="x"></a>A', "A"), ("# A[^1]", "A"), ("# `<b>` {a}", "<b> {a}"),
        ("<!-- <h1>no</h1> -->\n\n# A", "A"), ("<h1></h1>\n\n# A", "A"),
    ],
)  # fmt: skip
def test_titles_are_those_that_readers_see(heading: str, title: str) -> None:
    references = "[home]: http://a.b\n[widget]: http://a.b 'x'\n[^1]: a note\n"
    found, text, _ = read_markdown(f"{heading}\n\nText.\n\n{references}")
    assert (found, text) == (title, "Text.\n\na note")


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("The caf&eacute; sells 5&nbsp;kg &amp; tea.", "The café sells 5 kg & tea."),
        ("`&lt;b&gt;` is <b>code</b>", "&lt;b&gt; is code"),
        ("a<br>b<br/>c", "a\nb\nc"), ("<!-- no -->a <!-- no --> b", "a b"),
        ('<p align="center">\n<a href="no">a</a>\n</p>', "a"),
        ("[a](no 'no') <no@b.c> ![b](no)", "a no@b.c b"),
        ("[![build](no)](no)", "build"), ("*a* __b__ ~~c~~ \\*d\\*", "a b c *d*"),
        ("Use the <title> and <script> tags\n\nhere", "Use the and tags\n\nhere"),
        ("a[^1] b[^x] [^a-z]\n\n[^1]: see <b>c</b>\n    d\n[^x]: http://e", "a b [^a-z]\n\nsee c\nd\n\nhttp://e"),
        ("| a | b |\n|:--|--:|\n| `c` | **d** |", "a\n\nb\n\nc\n\nd"),
        ("- a\n- b\n  1. c", "a\n\nb\n\nc"), ("> a\n> b", "a\nb"),
        ("```python\nif a:\n    b  &amp;&amp; c\n```", "if a:\n    b  &amp;&amp; c"),
        ("    code <b>\n", "code <b>"), ("a\n\n***\n\nb", "a\n\nb"),
        ("<details><summary>a</summary>\n\n**b**\n\n</details>", "a\n\nb"),
        ("<style>\nno\n</style>\n\na", "a"), ("[no]: http://no 'no'\n\na", "a"),
        ("a < b, x<y>z, List<String>", "a < b, x\nz, List"),
    ],
)  # fmt: skip
def test_texts_are_read_as_readers_see_them(written: str, seen: str) -> None:
    assert read_markdown(written)[:2] == ("", seen)


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("```sh\n# no\n```", "# no"), ("~~~\n# no\n~~~", "# no"), ("    # no", "# no"),
        ("````\n```\n# no\n````", "```\n# no"), ("\t# no", "# no"), ("<!--\n# no\n-->", ""),
        ("<div>\n# no\n</div>", "# no"), ("<pre>\n# no\n\n# no\n</pre>", "# no\n\n# no"),
        ("- # no", "no"), ("1. a\n\n   # no", "a\n\nno"), ("> # no", "no"), ("> a\n===", "a\n==="),
        ("#no", "#no"), ("\\# no", "# no"), ("####### no", "####### no"), ("`# no`", "# no"),
        ("***", ""), ("  ```\n# no\n  ```", "# no"), ("- ```\n  # no\n  ```", "# no"),
    ],
)  # fmt: skip
def test_other_lines_are_no_titles_and_remain(before: str, seen: str) -> None:
    title, text, _ = read_markdown(f"{before}\n\n# Title\nText.")
    assert title == "Title"
    assert text == f"{seen}\n\nText.".strip()


def test_a_block_that_never_ends_has_no_title() -> None:
    assert read_markdown("```\n# no\n")[:2] == ("", "# no")
    assert read_markdown("<!--\n# no\n")[:2] == ("", "")


@pytest.mark.parametrize(
    "unit", ["[", "[a](", "*a **a ", ">", "<h1>", "<!-- ", "[^a]", "| ", "`a "]
)
def test_what_is_repeated_without_an_end_is_read(unit: str) -> None:
    assert read_markdown(f"# A\n\n{unit * 2_000}")[0] == "A"


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("---\ntitle: A\n---", "A"), ("---\ntitle: 'it''s'\n---", "it's"),
        ('---\ntitle: "A: \\u0042"\n---', "A: B"),
        ("---\n# note\nid: 1\ntitle: A # note\n...", "A"),
        ("---\ntitle: >-\n  A\n  b\n---", "A b"),
        ("---\ntitle: A\n  b\n---", "A b"), ('---\n"title": A\n---', "A"),
        ('+++\ntitle = "A"\n+++', "A"),
        ('+++\ntitle = """\nA\nb"""\n+++', "A b"), ("---\r\ntitle: A\r\n---", "A"),
        ("---  \ntitle: A\n---", "A"),
    ],
)  # fmt: skip
def test_front_matter_has_a_title(front: str, title: str) -> None:
    found, text, _ = read_markdown(f"{front}\n# Heading\nText.")
    assert found == title
    assert text.endswith("Heading\n\nText.")


def test_other_front_matter_remains_in_the_text() -> None:
    assert read_markdown("---\ntags: [a, b]\ntitle: A\n---\nText.")[:2] == (
        "A",
        "tags: [a, b]\n\nText.",
    )
    assert read_markdown("---\ntags: a\n---\n# A\nText.")[:2] == ("A", "tags: a\n\nText.")
    assert read_markdown("---\ntitle:\n---\n# A")[0] == "A"
    assert read_markdown("---\ntitle: null\n---\n# A")[0] == "A"


@pytest.mark.parametrize(
    "front", ["---\ntitle: no", "+++\nno\n+++", "***\ntitle: no\n***", "+++\ntitle = 'no'"]
)
def test_wrong_front_matter_is_text(front: str) -> None:
    title, text, _ = read_markdown(f"{front}\n\n# A\nText.")
    assert title == "A"
    assert "no" in text


def test_a_rule_and_a_line_below_are_a_heading() -> None:
    assert read_markdown("---\nA\n---\nText.")[:2] == ("A", "Text.")


def test_headings_below_the_title_are_known() -> None:
    page = read_markdown("---\ntags: a\n---\n# A\nText.\n\n## B *c*\n\n> ## D\n\nMore.\n\n### E")
    assert [(level, text) for _, level, text in page.headings] == [(2, "B c"), (3, "E")]
    assert [page.text[start:].split("\n")[0] for start, *_ in page.headings] == ["B c", "E"]
