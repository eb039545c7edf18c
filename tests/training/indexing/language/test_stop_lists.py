import pytest

from ranklet.runtime.text.words import stop_words
from ranklet.training.indexing.language.stop_lists import stop_list


def test_english_keeps_its_own_list() -> None:
    assert stop_list("en") == stop_words()


@pytest.mark.parametrize("language", ["th", "lo", "gv"])
def test_a_language_without_a_list_has_no_stop_words(language: str) -> None:
    assert stop_list(language) == frozenset()


def test_function_words_are_folded_stop_words() -> None:
    assert {"la", "etaient", "pourquoi", "tres"} <= stop_list("fr")


def test_frequent_verbs_of_which_the_list_has_few_forms_are_no_stop_words() -> None:
    assert not {"dire", "nomme", "suivant"} & stop_list("fr")
