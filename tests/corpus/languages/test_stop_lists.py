import pytest

from ranklet.corpus.languages.stop_lists import stop_list
from ranklet.runtime.text.words import stop_words


def test_english_keeps_its_own_list() -> None:
    assert stop_list("en") == stop_words()


@pytest.mark.parametrize("language", ["th", "lo", "gv"])
def test_a_language_without_a_list_has_no_stop_words(language: str) -> None:
    assert stop_list(language) == frozenset()


def test_a_stop_word_is_written_with_its_accents_only() -> None:
    assert {"la", "étaient", "pourquoi", "très"} <= stop_list("fr")
    assert not {"etaient", "tres", "la".upper()} & stop_list("fr")
    assert {"năm", "đang", "bạn"} <= stop_list("vi")
    assert not {"nam", "dang", "ban"} & stop_list("vi")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("ro", {"și", "în", "că", "fără"}),  # the package lists si, in, ca
        ("cs", {"teď"}),  # ted'
        ("el", {"και", "από", "του", "ή", "η"}),  # καί, ἀπό, τοῦ
        ("tr", {"çünkü", "birșey"}),  # birþey; ş and ș are one letter
        ("ru", {"еще", "ее"}),
        ("ar", {"في", "الذي", "ان", "ايضا"}),
    ],
)
def test_lists_have_the_spelling_of_texts(language: str, words: set[str]) -> None:
    assert words <= stop_list(language)


def test_frequent_verbs_of_which_the_list_has_few_forms_are_no_stop_words() -> None:
    assert not {"dire", "nomme", "suivant"} & stop_list("fr")
