import sys

import pytest

from ranklet.corpus.indexing.lemmas import vocabulary
from ranklet.corpus.languages.spellings import Spelling
from ranklet.runtime.text.analysis import Analyzer, Vocabulary
from ranklet.runtime.text.stems import LANGUAGES, has_stemmer, stem


def test_languages_have_the_names_that_snowball_has() -> None:
    assert sum(map(has_stemmer, LANGUAGES)) > 25
    assert has_stemmer("nb")
    assert not has_stemmer("th")


def made(words: set[str], *languages: str) -> Vocabulary:
    return vocabulary(words, languages, "stem")


def lemma(found: Vocabulary, word: str) -> str:
    return (
        Analyzer(found)
        .begin()
        .name(int(Analyzer(found).begin().tokens(word, "lemmas")[0]), "lemmas")
    )


def test_a_query_finds_the_class_of_a_form_that_no_text_has() -> None:
    found = made({"knead", "universities", "house", "houses"}, "en")
    assert lemma(found, "kneading") == "knead"
    assert lemma(found, "university") == "universities"  # and not the stem, which is no word
    assert found.find("catalogue") == -1
    assert found.find("KNEADING") == -1  # an acronym
    assert found.find("houses") == found.forms.find("houses")


def test_each_language_of_the_collection_has_its_stems() -> None:
    french = {"chevaux": Spelling("chevaux", "fr", 1)}
    found = vocabulary({"bread", "chevaux"}, ("en", "fr"), "stem", french)
    assert lemma(found, "breads") == "bread"
    assert lemma(found, "cheval") == "chevaux"
    assert lemma(made({"hauser"}, "de"), "hauses") == "hauser"


def test_lemmas_know_the_forms_of_the_dictionary_alone() -> None:
    assert vocabulary({"knead"}, ("en",), "lemma").find("kneadishly") == -1


def test_without_snowball_only_forms_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = made({"knead"}, "en")
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    assert found.find("knead") >= 0
    assert found.find("kneading") == -1


def test_a_stem_is_the_same_for_words_with_capitals() -> None:
    assert stem("Kneading", "en") == stem("kneads", "en")
