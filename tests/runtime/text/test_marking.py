from itertools import chain
from typing import TYPE_CHECKING

import pytest
from tests.word_pieces import train_tokenizer

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.text.lexicon import Lexicon
from ranklet.runtime.text.marking import (
    STRATEGIES,
    TERMS,
    Marker,
    added_tokens,
    insert_marks,
    marker_name,
    query_terms,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUERY = "causes of left ventricular hypertrophy"
TEXTS = (
    QUERY, "Left ventricular hypertrophy can occur when some factor makes the heart work",
    "ride rides riding rider don't it's # [e1] [/e1] café résumé naïve über straße", "[MASK]",
    "c++ 3.5% e-mail, what? 東京 к большой red #1 the cat's hats",
    *"abcdefghijklmnopqrstuvwxyz0123456789",
)  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> "Tokenizer":
    made = train_tokenizer(iter(TEXTS), 1)
    assert len(made.encode("hypertrophy", add_special_tokens=False).ids) > 1  # words of many pieces
    return made


def shown(tokenizer: "Tokenizer", pieces: list[int]) -> str:
    """Return marked pieces as a text: words put together, markers glued to them."""
    size = tokenizer.get_vocab_size()
    out = ""
    for piece in pieces:
        if piece >= size:
            out += f" {marker_name(piece - size)}"
        else:
            spelled = tokenizer.id_to_token(piece) or ""
            out += spelled.removeprefix("##") if spelled.startswith("##") else f" {spelled}"
    return out.strip()


def marked(tokenizer: "Tokenizer", strategy: str, query: str, *chunks: str) -> list[str]:
    lexicon = Lexicon(tokenizer)
    marker = Marker(strategy, lexicon, tokenizer.token_to_id("#") or 0)

    def cut(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    asked, held = cut(query), [cut(chunk) for chunk in chunks]
    words = [lexicon.words(each) for each in held]
    marks = marker.marks(lexicon.words(asked), chain.from_iterable(words))
    parts = [marker.query(asked, lexicon.words(asked), marks)]
    for pieces, each in zip(held, words, strict=True):
        out, places = insert_marks(pieces, each, marks, (0, len(pieces)), 1000)
        assert [at for at in places if at >= 0] == [*range(len(pieces))]
        assert all(pieces[at] == token for at, token in zip(places, out, strict=True) if at >= 0)
        parts.append(out)
    return [shown(tokenizer, each) for each in parts]


DOCUMENT = "Left ventricular hypertrophy can occur"


@pytest.mark.parametrize(
    ("strategy", "query", "document"),
    [
        ("none", QUERY, "left ventricular hypertrophy can occur"),
        ("sim_doc", QUERY, "# left # # ventricular # # hypertrophy # can occur"),
        ("sim_pair", "causes of # left # # ventricular # # hypertrophy #",
         "# left # # ventricular # # hypertrophy # can occur"),
        ("pre_doc", QUERY,
         "[e2] left [/e2] [e3] ventricular [/e3] [e4] hypertrophy [/e4] can occur"),
        ("pre_pair",
         "causes of [e2] left [/e2] [e3] ventricular [/e3] [e4] hypertrophy [/e4]",
         "[e2] left [/e2] [e3] ventricular [/e3] [e4] hypertrophy [/e4] can occur"),
    ],
)  # fmt: skip
def test_the_thesis_own_example(
    tokenizer: "Tokenizer", strategy: str, query: str, document: str
) -> None:
    # Boualili, Table 7.2: "causes" takes the number 1 though no word of the document matches it.
    assert marked(tokenizer, strategy, QUERY, DOCUMENT) == [query, document]


GOLDEN = {
    "a repeated query term keeps its first number": (
        "left heart left", "heart left",
        "[e1] left [/e1] [e2] heart [/e2] [e1] left [/e1]", "[e2] heart [/e2] [e1] left [/e1]",
    ),
    "every occurrence in the document": ("red", "red, Red RED", "[e1] red [/e1]",
        "[e1] red [/e1] , [e1] red [/e1] [e1] red [/e1]"),
    "stems": ("riding", "he rides a ride", "[e1] riding [/e1]",
        "he [e1] rides [/e1] a [e1] ride [/e1]"),
    "other stems": ("rider", "he rides", "rider", "he rides"),
    "only some match": ("red hats", "a hat", "red [e2] hats [/e2]", "a [e2] hat [/e2]"),
    "stop words": ("the cause of it", "the cause of it", "the [e1] cause [/e1] of it",
        "the [e1] cause [/e1] of it"),
    "nothing but stop words": ("of the", "of the", "of the", "of the"),
    "punctuation": ("red?", "red.", "[e1] red [/e1] ?", "[e1] red [/e1] ."),
    "the possessive": ("cat", "the cat's", "[e1] cat [/e1]", "the [e1] cat [/e1] ' s"),
    "what an apostrophe parts": ("don't", "I don't", "don ' t", "i don ' t"),
    "a letter alone": ("c", "c++", "[e1] c [/e1]", "[e1] c [/e1] + +"),
    "after an apostrophe it is none": ("t", "don't t", "[e1] t [/e1]", "don ' t [e1] t [/e1]"),
    "numbers": ("3.5", "5%", "3 . [e2] 5 [/e2]", "[e2] 5 [/e2] %"),
    "a hyphen": ("mail", "e-mail", "[e1] mail [/e1]", "e - [e1] mail [/e1]"),
    "accents": ("cafe", "Café", "[e1] cafe [/e1]", "[e1] cafe [/e1]"),
    "no space between": ("東", "東京", "[e1] 東 [/e1]", "[e1] 東 [/e1] 京"),
    "other alphabets": ("Большои", "большой", "[e1] большои [/e1]", "[e1] большои [/e1]"),
    "markers in the text are text": ("[e1]", "[e1] [/e1]", "[ [e1] e1 [/e1] ]",
        "[ [e1] e1 [/e1] ] [ / [e1] e1 [/e1] ]"),
    "# in the text is text": ("#1", "# red #1", "# [e1] 1 [/e1]", "# red # [e1] 1 [/e1]"),
    "special tokens match nothing": ("[MASK]", "[MASK] red", "[MASK]", "[MASK] red"),
    "unknown ones neither": ("ᚠ", "ᚠ red", "[UNK]", "[UNK] red"),
    "empty": ("", "", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(tokenizer: "Tokenizer", case: str) -> None:
    query, document, *expected = GOLDEN[case]
    assert marked(tokenizer, "pre_pair", query, document) == expected


def test_a_term_is_marked_in_the_query_where_any_chunk_has_it(tokenizer: "Tokenizer") -> None:
    found = marked(tokenizer, "sim_pair", "red hats", "a hat", "the heart", "red")
    assert found == ["# red # # hats #", "a # hat #", "the heart", "# red #"]


def test_marks_are_not_spelled_by_any_text(tokenizer: "Tokenizer") -> None:
    marker = Marker("pre_doc", Lexicon(tokenizer), 0)
    ids = tokenizer.encode("[e1] x [/e1]", add_special_tokens=False).ids
    assert not {*ids} & {*marker.tokens}
    assert min(marker.tokens) == tokenizer.get_vocab_size()
    assert len(marker.tokens) == added_tokens("pre_doc") == 2 * TERMS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_added_is_marks_alone(tokenizer: "Tokenizer", strategy: str) -> None:
    lexicon = Lexicon(tokenizer)
    marker = Marker(strategy, lexicon, tokenizer.token_to_id("[MASK]") or 0)
    for text in TEXTS:
        pieces = tokenizer.encode(text, add_special_tokens=False).ids
        words = lexicon.words(pieces)
        marks = marker.marks(words, words)
        document = insert_marks(pieces, words, marks, (0, len(pieces)), 1000)[0]
        for each in (marker.query(pieces, words, marks), document):
            kept = [piece for piece in each if piece not in marker.tokens]
            assert kept == [piece for piece in pieces if piece not in marker.tokens]


def test_query_terms_are_numbered_from_1(tokenizer: "Tokenizer") -> None:
    lexicon = Lexicon(tokenizer)
    ids = tokenizer.encode("the left left heart of it", add_special_tokens=False).ids
    assert query_terms(lexicon.words(ids)) == {"left": 1, "heart": 2}


def test_a_piece_past_the_vocabulary_is_refused(tokenizer: "Tokenizer") -> None:
    with pytest.raises(BundleError, match="past the"):
        Lexicon(tokenizer).words([10**6])


def test_words_of_two_letters_are_their_own_stems(tokenizer: "Tokenizer") -> None:
    pieces = tokenizer.encode("os o oses", add_special_tokens=False).ids
    assert [word.stem for word in Lexicon(tokenizer).words(pieces)] == ["os", "o", "os"]
