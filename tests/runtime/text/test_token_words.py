"""Tokens of any tokenizer belong to the words that all rankers know."""

import pytest

from ranklet.runtime.text.token_words import word_places


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
