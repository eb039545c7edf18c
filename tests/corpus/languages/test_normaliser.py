import sys

import pytest

from ranklet.corpus.languages.dictionary import dictionary
from ranklet.corpus.languages.normaliser import Class, Normaliser
from ranklet.runtime.errors import InputError


def key(word: str, language: str, method: str = "lemma") -> str:
    return Normaliser(language, method).of(word).key


def test_forms_with_and_without_accents_have_the_lemma_of_their_spelling() -> None:
    assert key("journaux", "fr") == key("journal", "fr") == "journal"
    assert key("été", "fr") == "etre"
    assert key("pêche", "fr") == "peche"
    assert key("pèche", "fr") == "pecher"


def test_a_stem_joins_lemmas() -> None:
    assert key("nationales", "fr") != key("nationalisme", "fr")
    assert key("nationaux", "fr", "lemma+stem") == key("nationale", "fr", "lemma+stem")


def test_the_name_of_a_class_is_a_lemma() -> None:
    assert Normaliser("en", "lemma+stem").of("generalities") == Class("general", "generality")


@pytest.mark.parametrize("method", ["lemma", "lemma+stem", "none"])
def test_a_language_without_dictionary_and_stems_keeps_its_words(method: str) -> None:
    assert key("ไท", "th", method) == "ไท"
    assert list(Normaliser("th", method).known({"ไท"})) == []


def test_stems_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="no stems of Thai; pass --normaliser lemma or none"):
        Normaliser("th", "stem")


def test_known_forms_are_those_of_the_classes_in_demand() -> None:
    known = dict(Normaliser("fr", "lemma").known({"journal"}))
    assert {"journal", "journaux"} <= set(known)
    assert {found.key for found in known.values()} == {"journal"}


def test_numbers_and_words_with_digits_stay_as_they_are() -> None:
    assert key("utf8", "fr") == "utf8"
    assert key("2024", "fr", "stem") == "2024"


@pytest.mark.parametrize("language", ["en", "fr"])
def test_stems_need_no_dictionary(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    dictionary.cache_clear()
    stems = Normaliser(language, "stem")
    assert stems.of("connections").key == stems.of("connection").key
    assert not list(stems.known({"connect"}))
