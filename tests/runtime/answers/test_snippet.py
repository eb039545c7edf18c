"""The part of a text that shows best why it was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.answers.snippet import excerpt, window
from ranklet.runtime.hits import SNIPPET, Hit
from ranklet.workflows.build import build

FILLER = "word " * 300


def test_a_long_text_is_shown_around_its_only_place() -> None:
    text = f"{FILLER}needle {FILLER}"
    at = text.index("needle")
    begin, end = window(text, [(at, at + 6)], 400)
    assert begin <= at < at + 6 <= end
    assert 350 < end - begin <= 400
    assert text[begin - 1] == " "
    assert window(text, [], 400) == (0, 399)
    assert window("short", [(3, 4)], 400) == (0, 5)


@given(text=st.text("ab \n字", min_size=1, max_size=80), size=st.integers(1, 50), data=st.data())
def test_an_excerpt_is_a_part_of_the_text_that_has_a_place(
    text: str, size: int, data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, min(len(text), begin + 5)))
    first, last = window(text, [(begin, end)], size)
    assert 0 <= first <= last <= len(text)
    assert last - first <= size
    assert first <= begin < last
    shown = excerpt(text, [(begin, end)], size)
    assert len(shown) <= size
    assert shown.strip("… ") in " ".join(text.split())


@pytest.fixture(scope="module")
def hit(tmp_path_factory: pytest.TempPathFactory) -> Hit:
    rows = [{"id": "1", "text": f"{FILLER}Needles are found in haystacks. {FILLER}"}]
    bundle = build(rows, tmp_path_factory.mktemp("built") / "b")
    return bundle.rank("a needle in the haystack")[0]


def test_a_hit_shows_what_matched_in_any_form(hit: Hit) -> None:
    assert "Needles are found in haystacks." in hit.snippet
    assert len(hit.snippet) <= SNIPPET
    assert hit.to_dict()["snippet"] == hit.snippet
    assert "haystacks" in hit.excerpt(80)
