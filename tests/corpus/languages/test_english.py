import pytest

from ranklet.corpus.languages.english import known_forms, lemma


def test_a_lemma_is_its_own_lemma() -> None:
    # simplemma leads from bacteria to bacterium and back; the two must meet in one of them.
    assert [form for form, base in known_forms().items() if lemma(base) != base] == []


@pytest.mark.parametrize(
    "forms", [("bacteria", "bacterium"), ("mouse", "mice"), ("good", "better", "best")]
)
def test_forms_of_one_word_meet_in_one_lemma(forms: tuple[str, ...]) -> None:
    assert len({lemma(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["utf8", "don't", "日", "gnorp", "naive"])
def test_what_the_dictionary_does_not_know_is_its_own_lemma(word: str) -> None:
    assert lemma(word) == word
