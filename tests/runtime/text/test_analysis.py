from collections.abc import Sequence

import numpy as np
import pytest
from tests.word_pieces import train_tokenizer
from tokenizers import Tokenizer, models

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.vocabulary import vocabulary
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.names import CLASSES


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    tokenizer = train_tokenizer(iter(["mice and a mouse", "the mouse ran"] * 3), 100)
    return Analyzer(vocabulary({"mouse", "mice", "ran", "naive"}), lambda: tokenizer)


def spelled(analyzer: Analyzer, text: str, field: str) -> Sequence[str]:
    analysis = analyzer.begin()
    return [analysis.name(token, field) for token in analysis.tokens(text, field).tolist()]


@pytest.mark.parametrize(
    ("text", "words", "lemmas"),
    [
        ("Mice ran", ["mice", "ran"], ["mice", "ran"]),
        ("the mouse and its naïve mouse", ["mouse", "naive", "mouse"], ["mice", "naive", "mice"]),
        ("running runs", ["running", "runs"], ["ran", "ran"]),  # in no document
        ("gnorp", ["gnorp"], ["gnorp"]),
        ("the of and", [], []),
        ("", [], []),
        ("\0", [], []),
        ("\ud800 mice", ["mice"], ["mice"]),
    ],
)
def test_fields(analyzer: Analyzer, text: str, words: list[str], lemmas: list[str]) -> None:
    assert spelled(analyzer, text, "words") == words
    assert spelled(analyzer, text, "lemmas") == lemmas


def test_word_pieces_keep_stop_words_and_add_no_special_tokens(analyzer: Analyzer) -> None:
    assert spelled(analyzer, "The Mouse", "wordpieces") == ["the", "mouse"]


def test_word_pieces_take_a_lone_surrogate_for_a_question_mark(analyzer: Analyzer) -> None:
    analysis = analyzer.begin()
    with_half, plain = (analysis.tokens(f"mouse {c}", "wordpieces") for c in ("\ud800", "?"))
    np.testing.assert_array_equal(with_half, plain)


def test_an_unknown_word_is_the_same_token_throughout_a_call(analyzer: Analyzer) -> None:
    analysis = analyzer.begin()
    first = analysis.tokens("gnorp mouse zork", "words")
    again = analysis.tokens("zork gnorp", "words")
    lemmas = analysis.tokens("gnorp", "lemmas")
    assert again.tolist() == [first[2], first[0]]
    assert lemmas.tolist() == [first[0]]
    assert len(set(first.tolist())) == 3
    assert min(again) >= analyzer.size("words")


def test_calls_share_no_unknown_words(analyzer: Analyzer) -> None:
    first, second = analyzer.begin(), analyzer.begin()
    assert first.tokens("gnorp", "words") == second.tokens("zork", "words")
    assert first.name(int(first.tokens("gnorp", "words")[0]), "words") == "gnorp"


def test_an_unknown_token_number_has_a_name(analyzer: Analyzer) -> None:
    analysis = analyzer.begin()
    assert analysis.name(10**6, "words") == "#1000000"
    assert analysis.name(10**6, "wordpieces") == "#1000000"


def test_documents_and_queries_are_analysed_alike(analysed: AnalysedCollection) -> None:
    for field in ("words", "lemmas", "wordpieces"):
        tokens, offsets = analysed.tokens(field), analysed.offsets(field)
        for at in (0, 19, 39, 40):
            text = f"{analysed.documents.titles[at]}\n{analysed.documents.texts[at]}"
            found = analysed.analyzer.begin().tokens(text, field)
            np.testing.assert_array_equal(found, tokens[offsets[at] : offsets[at + 1]])


def test_without_a_tokenizer_there_are_no_word_pieces() -> None:
    with pytest.raises(BundleError, match="no word-piece tokenizer"):
        Analyzer(vocabulary({"mouse"})).begin().tokens("mouse", "wordpieces")


@pytest.mark.parametrize(
    ("pieces", "message"),
    [({"a": 0}, "tokenizer fails"), ({"[UNK]": 0, "b": 4_000_000_000}, "returned id 4000000000")],
)
def test_a_damaged_tokenizer_is_refused(pieces: dict[str, int], message: str) -> None:
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))  # noqa: S106
    analysis = Analyzer(vocabulary({"mouse"}), lambda: tokenizer).begin()
    with pytest.raises(BundleError, match=message):
        analysis.tokens("b", "wordpieces")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("JavaScript code", ["javascript", "code"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("C++ 日本", ["c", "c++", "日", "本"]),
        ("JavaScript.org", ["javascript", "org", "javascript.org"]),
    ],
)
def test_a_known_name_in_a_query_stands_for_its_parts(query: str, expected: list[str]) -> None:
    analysis = Analyzer(vocabulary({"javascript", "java", "c", "c++"})).begin()
    asked = [analysis.name(token, "words") for token in analysis.asked(query, "words").tolist()]
    assert asked == expected


def test_a_query_finds_the_classes_of_a_word_that_no_text_has() -> None:
    german = vocabulary({"dokumentenbaum", "hauser"}, ["de"], WordClasses(["de"], "stem"), set())
    analysis = Analyzer(german).begin()

    def classes(word: str) -> list[str]:
        return [analysis.name(each, "lemmas") for each in analysis.tokens(word, CLASSES).tolist()]

    assert classes("Dokument") == ["dokument", "dokum…"]
    assert classes("dokumentenbaum") == ["dokumentenbaum", "dokum…"]
    assert classes("Hauses") == ["hauser", "hause…"]
    assert int(analysis.tokens("Hauses", "lemmas")[0]) == german.lemma_of[german.find("hauser")]
    assert list(analysis.placed("die Hauses", "lemmas"))[-2:] == [
        (4, 10, "hauser"),
        (4, 10, "hause…"),
    ]


@pytest.mark.parametrize(("language", "times"), [("ja", 2), ("zh", 2), ("de", 1)])
def test_among_pairs_of_letters_a_query_counts_other_words_twice(language: str, times: int) -> None:
    words = vocabulary({"ubuntu", "日本"}, [language], WordClasses([language], "none"), set())
    analysis = Analyzer(words).begin()
    asked = analysis.spelled(analysis.asked("日本 ubuntu", CLASSES))
    assert asked.count("ubuntu") == times
    assert asked.count("日本") == 1
    assert analysis.spelled(analysis.tokens("日本 ubuntu", CLASSES)).count("ubuntu") == 1


def test_a_word_without_its_accents_is_a_stop_word_if_no_text_has_another() -> None:
    italian = vocabulary({"perché"}, ["it"], WordClasses(["it"], "stem"), {"perché"})
    assert italian.find("perche") == italian.find("perché") >= 0
    both = vocabulary({"perché", "perche"}, ["it"], WordClasses(["it"], "stem"), {"perché"})
    assert both.find("perche") != both.find("perché")


def test_stop_words_are_left_out_of_a_query_if_another_form_of_its_word_is_known() -> None:
    german = vocabulary({"der", "hauser"}, ["de"], WordClasses(["de"], "stem"), {"der"})
    analysis = Analyzer(german).begin()
    assert len(analysis.asked("der Hauses", "words")) == 1
    assert len(analysis.asked("der Xyzzy", "words")) == 2
