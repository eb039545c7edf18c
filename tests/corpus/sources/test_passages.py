import re
from itertools import count, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.growth import grows_linearly

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.sources.passages import _most, balanced, located, passages
from ranklet.runtime.bundles.location import Location, joined
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.text.sentences import word_pattern

SENTENCES = st.lists(
    st.builds(
        lambda words, end: " ".join(words) + end,
        st.lists(st.sampled_from(["one", "zwei", "trois", "четыре", "3.5", "don't"]), min_size=1),
        st.sampled_from([". ", "! ", "?\n", "\n\n", ".) ", "… "]),
    ),
    min_size=1,
    max_size=30,
)


def word_count(text: str) -> int:
    return len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u9fff]+", text))


def places(text: str, parts: list[str]) -> list[tuple[int, int]]:
    """Return where each passage stands in its text, in order."""
    found, begin = [], 0
    for part in parts:
        begin = text.index(part, begin)
        found.append((begin, begin + len(part)))
    return found


@settings(max_examples=60)
@given(
    sentences=SENTENCES,
    words=st.integers(1, 30),
    share=st.floats(0, 0.5),
    end=st.sampled_from("?."),
)
def test_passages_cover_the_text_and_are_neither_empty_nor_too_long(
    sentences: list[str], words: int, share: float, end: str
) -> None:
    # Words get numbers, because equal ones could not be found again in the text.
    numbers = count()
    text = re.sub(r"\w+", lambda _: f"n{next(numbers)}n", "".join(sentences)) + end
    overlap = int(words * share)
    parts = passages(text, words, overlap)
    spans = places(text, parts)
    assert all(0 < word_count(part) <= words for part in parts) or len(parts) == 1
    assert not text[: spans[0][0]].strip()
    assert not text[spans[-1][1] :].strip()
    for (_, end_before), (begin, _) in pairwise(spans):
        assert not text[end_before:begin].strip()  # nothing is left out between two
        assert word_count(text[begin:end_before]) <= overlap


def test_passages_end_with_sentences() -> None:
    text = "One two three. Four five! Six seven? Eight (nine.) Ten eleven."
    assert passages(text, 5, 0) == [
        "One two three. Four five!",
        "Six seven? Eight (nine.)",
        "Ten eleven.",
    ]


@given(st.text("aé_ .字ไ้1-\n😀"))
def test_no_text_has_more_words_than_are_guessed(text: str) -> None:
    assert len(word_pattern(text).findall(text)) <= _most(text)


def test_a_short_text_stays_as_it_is() -> None:
    assert passages("  One. \n", 3, 1) == ["  One. \n"]
    assert passages("", 3, 1) == [""]
    assert passages("!!! … ???", 3, 1) == ["!!! … ???"]
    long = "word " * 1000
    assert passages(long, 0, 0) == [long]


def test_a_giant_sentence_is_cut_between_words() -> None:
    text = " ".join(f"w{number}" for number in range(1000))
    parts = passages(text, 100, 20)
    assert {word_count(part) for part in parts} == {100}
    assert " ".join(parts) == text


def test_scripts_without_spaces_count_characters() -> None:
    text = "猫は眠る。犬は吠える。鳥は歌う。"
    assert passages(text, 5, 0) == ["猫は眠る。犬は吠える。", "鳥は歌う。"]
    thai = "แมวนอนหลับ หมาเห่า นกร้องเพลง"
    assert len(passages(thai, 4, 0)) > 1
    assert len(passages(thai, 20, 0)) == 1
    assert "".join(passages("猫" * 25, 10, 0)) == "猫" * 25


@pytest.mark.parametrize(
    "text",
    ["." * 2_000 + "x a b c", "\n" * 2_000 + "a b c d", "w " * 1_000, ". " * 1_000, '!"' * 1_000],
)
def test_the_time_grows_with_the_length_of_unusual_texts_and_not_with_its_square(text: str) -> None:
    assert grows_linearly(lambda long: passages(long, 3, 1), text)


@given(total=st.integers(1, 500), words=st.integers(1, 100))
def test_balanced_passages_suffice(total: int, words: int) -> None:
    assume(total > words)
    overlap = words // 2
    size = balanced(total, words, overlap)
    assert words // 2 < size <= words


@given(
    st.lists(
        st.sampled_from(["One two. ", "Three!\n\n", "# A\n\n", "four five\t", "。"]), min_size=1
    ),
    st.integers(2, 12),
    st.data(),
)
def test_passages_know_where_they_stand(pieces: list[str], words: int, data: st.DataObject) -> None:
    text = "".join(pieces)
    starts = [at for at in range(len(text)) if text.startswith("# A", at)]
    headings = tuple(Heading(at, data.draw(st.integers(1, 3)), "# A") for at in starts)
    overlap = data.draw(st.integers(0, words // 2))
    whole = Document("d", "Title", text, headings=headings)
    found = list(located(whole, Splitting(words, overlap)))
    if len(found) == 1:
        assert found == [whole._replace(headings=())]
        return
    places = [Location.read(each.location) for each in found]
    pairs = [(place, each.text) for place, each in zip(places, found, strict=True) if place]
    assert len(pairs) == len(found)
    assert all(text[place.start :].startswith(part) for place, part in pairs)
    assert pairs[0][0].before + joined(pairs) == text.rstrip()
    for (place, _), each in zip(pairs, found, strict=True):
        assert each.title == " › ".join(["Title", *place.heading])
        assert set(place.heading) <= {"# A"}
