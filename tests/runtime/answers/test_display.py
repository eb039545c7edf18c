from ranklet.runtime import Hit, Ranking
from ranklet.runtime.answers.display import Row, mark_html, table

HIT = Hit("<1>", 0.5, "A title", "Cats & dogs", 0)


def test_marks_are_escaped_and_may_overlap_or_end_past_the_text() -> None:
    assert mark_html("a<b c", [(2, 3), (0, 3), (4, 99)]) == "<mark>a&lt;b</mark> <mark>c</mark>"
    assert mark_html("abc", []) == "abc"


def test_a_table_has_title_and_text_with_their_marks() -> None:
    shown = table("<cats>", [Row("<1>", 0.5, "A title", "Cats & dogs", [(2, 7), (8, 12)])])
    assert "1 hit for “&lt;cats&gt;”" in shown
    assert "&lt;1&gt;" in shown
    assert "A <mark>title</mark>" in shown
    assert "<mark>Cats</mark> &amp; dogs" in shown


def test_a_ranking_of_no_bundle_is_shown_without_marks() -> None:
    shown = Ranking((HIT,), "cats", ())._repr_html_()
    assert "Cats &amp; dogs" in shown
    assert "<mark>" not in shown


def test_a_table_names_what_may_have_been_meant() -> None:
    shown = Ranking((HIT,), "cast", (), suggestion="<cats>")._repr_html_()
    assert "for “cast”. Did you mean “&lt;cats&gt;”?</caption>" in shown
