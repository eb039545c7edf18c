"""Tables learn from random words of a tokenizer, and from short parts of texts."""

from itertools import islice

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import Unigram, WordPiece

from ranklet.workflows.tables.texts import MOST_WORDS, list_words, phrase, random_texts, short_texts


def word_pieces() -> Tokenizer:
    names = ["[PAD]", "[UNK]", "[unused1]", "!", "the", "dough", "bread", "##s", "##ing", "##!"]
    tokenizer = Tokenizer(WordPiece({name: at for at, name in enumerate(names)}))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    return tokenizer


def test_words_and_pieces_are_told_by_their_spelling() -> None:
    assert list_words(word_pieces()) == (["the", "dough", "bread"], ["s", "ing"])
    scores = {"▁the": -1.0, "s": -2.0, "▁": -2.5, "▁teig": -3.0, "粉": -4.0}
    unigram = Tokenizer(Unigram([*scores.items()]))
    assert list_words(unigram) == (["the", "teig"], ["s", "粉"])


def test_random_texts_are_always_the_same_and_short() -> None:
    words = list_words(word_pieces())
    texts = list(islice(random_texts(words), 300))
    assert texts == list(islice(random_texts(words), 300))
    lengths = {len(text.split()) for text in texts}
    assert lengths == {*range(1, MOST_WORDS + 1)}
    spelled = {word for text in texts for word in text.split()}
    assert (
        {"the", "dough", "bread"}
        < spelled
        <= {word + piece for word in words.begins for piece in ("", *words.pieces)}
    )
    counts = [sum(text.split().count(word) for text in texts) for word in words.begins]
    assert counts == sorted(counts, reverse=True)


def test_short_texts_are_titles_sentences_and_phrases_each_once() -> None:
    text = "A quiet stream runs through the old town. It is cold! " + "very " * 60 + "long."
    found = short_texts([("Streams", text), ("Streams", ""), ("", text)])
    assert "Streams" in found
    assert len(found) == len({*found})
    for each in found:
        assert each in f"Streams {' '.join(text.split())}"
        assert len(each.split()) <= 24
    assert short_texts([("Streams", text)]) == short_texts([("Streams", text)])
    assert len(short_texts([(f"title {at}", "") for at in range(50)], 7)) == 7


@pytest.mark.parametrize(
    "text", ["眠っている猫は静かな部屋で夢を見る", "one two three four five six"]
)
def test_a_phrase_is_a_part_of_its_text(text: str) -> None:
    drawn = {phrase(text, np.random.default_rng(seed)) for seed in range(20)}
    assert len(drawn) > 3
    assert all(each and each in text for each in drawn)
    assert phrase("too short", np.random.default_rng(0)) == "too short"
