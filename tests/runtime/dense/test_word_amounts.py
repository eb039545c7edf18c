"""A dense score by words: all amounts are there, and few words are marked."""

import pytest
from tests.explanations import check_sums

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.dense.word_amounts import explain_words
from ranklet.runtime.text.tokenizing import TextToken

CLS, SEP = (TextToken(0, 0, 0, name, special=True) for name in ("[CLS]", "[SEP]"))


def tokenize_texts(text: str, size: int = 99) -> list[TextToken]:
    """Return the tokens of a text, at most `size` characters each, between special ones."""
    tokens, at = [CLS], 0
    for word in text.split(" "):
        for begin in range(0, len(word), size):
            part = word[begin : begin + size]
            first = at + begin
            tokens.append(TextToken(1, first, first + len(part), part, special=False))
        at += len(word) + 1
    return [*tokens, SEP]


def explained(text: str, amounts: list[float], size: int = 99) -> Explanation:
    found = explain_words("cosine", "rankers/x", text, tokenize_texts(text, size), amounts)
    assert found.value == pytest.approx(sum(amounts))
    check_sums(found)
    return found


def test_pieces_of_a_word_and_its_repetitions_share_a_part() -> None:
    found = explained(
        "Chart of a chart graph", [0.01, 0.1, 0.02, 0.05, 0.06, 0.2, 0.03, 0.04, 0.01, 0.03], 3
    )
    assert [(part.label, round(part.value, 3)) for part in found.parts] == [
        ("chart (×2)", 0.35), ("graph", 0.05), ("stop words and punctuation", 0.11),
        ("[CLS] and [SEP]", 0.04),
    ]  # fmt: skip


def test_only_words_above_the_mean_word_are_marked() -> None:
    found = explained("fast small red boxes", [0.1, 0.2, 0.01, 0.02, 0.01, 0.1])
    assert found.read is not None
    assert (found.read.field, found.read.spans) == ("rankers/x", ((0, 4),))
    ((piece, excess),) = found.pieces
    assert piece == 0
    assert excess == pytest.approx(0.2 - 0.06)


def test_a_text_of_stop_words_has_parts_and_marks() -> None:
    found = explained("to be or not", [0.1, 0.1, 0.2, 0.1, 0.1, 0.1])
    assert {part.label for part in found.parts} >= {"to", "be", "not"}
    assert [piece for piece, _ in found.pieces] == [1]


def test_an_empty_text_has_only_special_tokens() -> None:
    found = explained("", [0.1, 0.2])
    assert [part.label for part in found.parts] == ["[CLS] and [SEP]"]
    assert found.pieces == ()


def test_a_prompt_is_a_part_and_no_piece_of_the_text() -> None:
    prompt = TextToken(1, -7, -1, "query:", special=False)
    tokens = [CLS, prompt, *tokenize_texts("chart graph")[1:]]
    found = explain_words("dot", "rankers/x", "chart graph", tokens, [0.1, 0.2, 0.5, 0.1, 0.1])
    assert {part.label: part.value for part in found.parts}["the prompt"] == 0.2
    assert [piece for piece, _ in found.pieces] == [0]
