import re
import string
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.growth import grows_linearly

from ranklet.runtime.text.words import fold, placed_words, stop_words, word_places, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("…—!?", []),
        ("\0", []),
        ("a\0b", ["a", "b"]),
        ("😀", ["😀"]),
        ("good😀day", ["good", "😀", "day"]),
        ("Don't", ["don't"]),
        ("Don’t", ["don't"]),
        ("the cat's tail", ["the", "cat", "tail"]),
        ("the cats' tails", ["the", "cats", "tails"]),
        ("'quoted'", ["quoted"]),
        ("'s", ["s"]),
        ("rock'n'roll", ["rock'n'roll"]),
        ("str_replace(os)", ["str", "replace", "str_replace", "os"]),
        ("Crème Brûlée", ["creme", "brulee"]),
        ("Stra\u00dfe STRASSE", ["strasse", "strasse"]),
        ("\u0130stanbul", ["istanbul"]),
        ("\ufb01nd \uff26\uff35\uff2c\uff2c", ["find", "full"]),
        ("5\u338d 3\u33a7 \u211d\u2122", ["5", "μg", "3", "m", "s", "m/s", "r"]),
        ("Ζεύς ΖΕΥΣ", ["ζευσ", "ζευσ"]),
        ("Москва́", ["москва"]),
        ("日本語", ["日", "本", "語"]),
        ("Python入門3", ["python", "入", "門", "3"]),
        ("カタカナ・テスト", ["カ", "タ", "カ", "ナ", "テ", "ス", "ト"]),
        ("\U00020000a", ["\U00020000", "a"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("half\ud800a", ["half", "a"]),
    ],
)
def test_words_of(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_composed_and_decomposed_letters_are_one_word() -> None:
    text = "Żółw naïve Ångström 텍스트"
    assert words(unicodedata.normalize("NFC", text)) == words(unicodedata.normalize("NFD", text))


@given(st.text())
@example("\u17a4")  # spelled by a letter and a sign
def test_words_are_lower_case_whole_and_found_again_in_themselves(text: str) -> None:
    for word in words(text):
        assert word
        assert not re.search(r"\s", word)
        assert words(word)[-1] == word


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


PIECES = ["who", "WHO", "DON'T", "it's", "Foo", "fooBar", "HTMLParser", "utf8", "2", "x", "C"]


@given(st.lists(st.sampled_from([*PIECES, *string.punctuation, " ", "\n", "é"])).map("".join))
def test_plain_words_between_spaces_are_split_as_all_others(text: str) -> None:
    # Most of what stands between two spaces takes a faster way.
    assert words(text) == [word for _, _, word in placed_words(text)]


def test_a_stop_word_in_capitals_with_an_apostrophe_is_no_acronym() -> None:
    assert words("You DON'T know WHO can’t. CAN'T!") == [
        "you", "don't", "know", "WHO", "can't", "can't",
    ]  # fmt: skip


@given(st.text(), st.text())
def test_words_of_two_texts_are_the_words_of_both(first: str, second: str) -> None:
    # Whether a text in capitals only is written in acronyms is a question of the whole text.
    assume(not any(each.isupper() for each in (first, second, f"{first}\n{second}")))
    assert words(f"{first}\n{second}") == words(first) + words(second)


@pytest.mark.parametrize("text", ["a" * 10_000, "é" * 3_000, "a'" * 5_000, "日" * 3_000])
def test_the_time_grows_with_the_length_of_a_text_and_not_with_its_square(text: str) -> None:
    assert grows_linearly(words, text)


def test_stop_words_are_words() -> None:
    assert "the" in stop_words()
    assert all(words(word) == [word] for word in stop_words())


@given(st.text("aZé'’_-. 5日本ßñ\u0301ﬁ"))
def test_words_with_positions_are_the_same_words(text: str) -> None:
    placed = list(placed_words(text))
    assert [word for _, _, word in placed] == words(text)
    for begin, end, word in placed:
        assert word in words(text[begin:end])
    assert [end for _, end, _ in placed] == sorted(end for _, end, _ in placed)


@pytest.mark.parametrize(
    ("text", "tokens", "words"),
    [
        ("spreadsheets", [(0, 7), (7, 11), (11, 12)], ["spreadsheets"] * 3),
        ("read it.", [(0, 4), (4, 7), (7, 8)], ["read", "it", None]),  # a space belongs to a token
        ("os.path", [(0, 2), (2, 3), (3, 7)], ["os", None, "path"]),
        ("don't", [(0, 3), (3, 4), (4, 5)], ["don't", None, "don't"]),
        ("Café!", [(0, 3), (3, 5)], ["Café", "Café"]),
        ("東京", [(0, 2)], ["東"]),
        ("a b", [(1, 1), (0, 0)], [None, None]),
        ("", [], []),
    ],
)
def test_a_token_belongs_to_the_word_of_its_first_letter(
    text: str, tokens: list[tuple[int, int]], words: list[str | None]
) -> None:
    places = word_places(text, tokens)
    assert [None if place is None else text[slice(*place)] for place in places] == words
