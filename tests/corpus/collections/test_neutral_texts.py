"""Neutral texts are always the same, all different, of several scripts and of all lengths."""

import unicodedata
from collections.abc import Callable

import pytest

from ranklet.corpus.collections.neutral_texts import neutral_documents, neutral_queries

SCRIPTS = (
    "LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "CJK", "HIRAGANA",
    "HANGUL",
)  # fmt: skip


@pytest.mark.parametrize("made", [neutral_queries, neutral_documents])
def test_texts_differ_and_have_several_scripts(made: Callable[[int], tuple[str, ...]]) -> None:
    texts = made(100)
    assert len({*texts}) == len(texts) == 100
    assert all(text.strip() for text in texts)
    names = {unicodedata.name(char, "").split()[0] for text in texts for char in text if char > " "}
    assert names.issuperset(SCRIPTS)
    assert sum(text.isascii() for text in texts) >= 45  # most models know English best
    assert made(40) == texts[:40]


def test_documents_are_of_one_character_to_more_than_most_models_read() -> None:
    lengths = [len(text.split()) for text in neutral_documents(100)]
    assert min(lengths) == 1
    assert sum(length > 600 for length in lengths) == 2
    assert max(lengths) < 2_000  # because attention takes the square of a text's length
