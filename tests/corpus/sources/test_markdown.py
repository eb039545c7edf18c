"""The title of Markdown is what CommonMark calls a heading, or stands in the front matter."""

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
    found, text = read_markdown(f"{heading}\n\nText.")
    assert found == title
    assert text.endswith("Text.")
    assert "A" not in text


@pytest.mark.parametrize(
    "before",
    [
        "```sh\n# no\n```", "~~~\n# no\n~~~", "````\n```\n# no\n````", "    # no", "\t# no",
        "<!--\n# no\n-->",
        "<div>\n# no\n</div>", "<pre>\n# no\n\n# no\n</pre>", "- # no", "1. a\n\n   # no",
        "> # no",
        "> a\n===", "#no", "\\# no", "####### no", "[a]: # no", "***", "a | b\n--- | ---",
        "`# no`",
        "  ```\n# no\n  ```", "- ```\n  # no\n  ```",
    ],
)  # fmt: skip
def test_other_lines_are_no_titles_and_remain(before: str) -> None:
    title, text = read_markdown(f"{before}\n\n# Title\nText.")
    assert title == "Title"
    assert text == f"{before.strip()}\n\n\nText."


def test_a_block_that_never_ends_has_no_title() -> None:
    assert read_markdown("```\n# no\n") == ("", "```\n# no")
    assert read_markdown("<!--\n# no\n") == ("", "<!--\n# no")


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
    found, text = read_markdown(f"{front}\n# Heading\nText.")
    assert found == title
    assert text.endswith("# Heading\nText.")


def test_other_front_matter_remains_in_the_text() -> None:
    assert read_markdown("---\ntags: [a, b]\ntitle: A\n---\nText.") == (
        "A",
        "tags: [a, b]\n\nText.",
    )
    assert read_markdown("---\ntags: a\n---\n# A\nText.") == ("A", "tags: a\n\nText.")
    assert read_markdown("---\ntitle:\n---\n# A")[0] == "A"
    assert read_markdown("---\ntitle: null\n---\n# A")[0] == "A"


@pytest.mark.parametrize(
    "front", ["---\ntitle: no", "+++\nno\n+++", "***\ntitle: no\n***", "+++\ntitle = 'no'"]
)
def test_wrong_front_matter_is_text(front: str) -> None:
    title, text = read_markdown(f"{front}\n\n# A\nText.")
    assert title == "A"
    assert "no" in text


def test_a_rule_and_a_line_below_are_a_heading() -> None:
    assert read_markdown("---\nA\n---\nText.") == ("A", "---\n\nText.")


def test_a_heading_is_looked_for_at_the_beginning() -> None:
    filler = "word\n" * 2_000
    assert read_markdown(f"{filler}\n# A\nText.")[0] == "A"  # behind the first piece that is read
    assert read_markdown(f"{filler * 10}\n# A\nText.")[0] == ""
    assert (
        read_markdown("word\n" * 818 + "\nlast\n===\nText.")[0] == "last"
    )  # a piece ends inside of it
