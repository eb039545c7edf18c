from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.indexing.collection_words import collection_words
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.text.analysis import Analyzer

TEXTS = [
    "Les journaux du matin racontent la vie des chevaux dans les villes.",
    "The horses of the old town are small, and the newspapers wrote about their tea.",
]


def found(texts: list[str], language: str) -> tuple[Analyzer, list[list[str]], tuple[str, ...]]:
    """Return the analyzer, the words of each text that are no stop words, and the languages."""
    vocabulary, forward, shares = collection_words(texts, TextOptions(language=language))
    each = [
        [
            vocabulary.forms[token]
            for token in forward.tokens[begin:end].tolist()
            if token not in vocabulary.stopped
        ]
        for begin, end in zip(forward.offsets[:-1], forward.offsets[1:], strict=True)
    ]
    return Analyzer(vocabulary), each, tuple(shares)


def test_stop_words_are_those_of_the_language() -> None:
    _, (words,), languages = found(TEXTS[:1], "fr")
    assert languages == ("fr",)
    assert words == ["journaux", "matin", "racontent", "vie", "chevaux", "villes"]


def test_the_languages_of_documents_are_found_out() -> None:
    analyzer, (french, english), languages = found(TEXTS, "auto")
    assert set(languages) == {"en", "fr"}
    assert french == ["journaux", "matin", "racontent", "vie", "chevaux", "villes"]
    assert "the" not in english
    assert "horses" in english
    analysis = analyzer.begin()

    def lemma(word: str) -> np.ndarray:
        return analysis.tokens(word, "lemmas")

    assert lemma("cheval").tolist() == lemma("chevaux").tolist()
    assert lemma("horse").tolist() == lemma("horses").tolist()


def test_a_stop_word_of_one_language_is_found_as_a_word_of_another() -> None:
    german = "Die Straße war lang und das Wetter war schlecht, aber die Leute waren zufrieden."
    texts = [german, "The war in the north lasted for seven years and killed many people."] * 2
    analyzer, words, languages = found(texts, "auto")
    assert set(languages) == {"de", "en"}
    assert "war" in words[1]
    assert "the" not in words[1]
    assert not {"und", "das", "die"} & set(words[0])
    analysis = analyzer.begin()
    war, wars = (analysis.tokens(word, "lemmas").tolist() for word in ("war", "wars"))
    assert war == wars != []


def test_words_keep_the_accents_that_tell_them_from_stop_words() -> None:
    analyzer, (words,), _ = found(["Mua thức ăn cho chó ở chợ Đà Nẵng."], "vi")
    assert words == ["mua", "thuc", "chó", "chợ", "da", "nang"]
    analysis = analyzer.begin()
    assert len(analysis.tokens("CHÓ", "words")) == 1
    assert len(analysis.asked("cho, chó", "words")) == 1
    assert list(analysis.stopped("cho, chó")) == ["cho"]


def test_a_collection_that_proves_to_be_english_has_the_rules_of_english() -> None:
    texts = [TEXTS[1] + " I don't know l'amour."]
    assert found(texts, "auto")[1:] == found(texts, "en")[1:]


def test_only_languages_that_need_it_have_counts() -> None:
    assert found(TEXTS, "auto")[0].vocabulary.counts is None
    pytest.importorskip("fugashi")
    vocabulary = found(["空間データ", "空間"], "ja")[0].vocabulary
    assert vocabulary.counts is not None
    counts = dict(zip(vocabulary.forms, vocabulary.counts.tolist(), strict=True))
    assert {form: count for form, count in counts.items() if count} == {"空間": 2, "データ": 1}


def test_a_query_leaves_stop_words_out_only_if_another_word_remains() -> None:
    texts = ["Der Weg zum See.", "Das Haus ist weg.", "Die Katze schläft."]
    analyzer, *_ = found(texts, "de")
    analysis = analyzer.begin()

    def asked(query: str) -> list[str]:
        return [analysis.name(each, "words") for each in analysis.asked(query, "words").tolist()]

    assert asked("der Weg") == ["der", "weg"]
    assert asked("der Weg xyz") == ["der", "weg", "xyz"]  # no text has xyz
    assert asked("der Weg zum Haus") == ["haus"]
    assert list(analysis.stopped("der Weg")) == []
    assert list(analysis.stopped("der Weg zum Haus")) == ["der", "Weg", "zum"]
    assert len(analysis.tokens("der Weg zum Haus", "words")) == 4


def test_given_forms_take_the_place_of_stems(tmp_path: Path) -> None:
    path = tmp_path / "forms.tsv"
    path.write_text("journaux\tjournal\njournalier\tjournal\n", "utf-8")
    vocabulary, *_ = collection_words(TEXTS[:1], TextOptions(language="fr", forms=path))
    analysis = Analyzer(vocabulary).begin()
    assert vocabulary.beginning_of is None
    forms = ("journaux", "journal", "journalier")  # no text has the last one
    assert len({int(analysis.tokens(form, "lemmas")[0]) for form in forms}) == 1
    chevaux, cheval = (int(analysis.tokens(form, "lemmas")[0]) for form in ("chevaux", "cheval"))
    assert chevaux != cheval
