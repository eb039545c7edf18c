import numpy as np
import pytest

from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.words import stop_words
from ranklet.training.indexing.lemmas import _known_forms, lemma, vocabulary


def lemma_in(found: Vocabulary, form: str) -> str | None:
    index = found.forms.find(form)
    lemma_id = int(found.lemma_of[index])
    assert index >= 0
    return None if lemma_id == STOPPED else found.forms[lemma_id]


def test_a_lemma_is_its_own_lemma() -> None:
    # simplemma leads from bacteria to bacterium and back; the two must meet in one of them.
    assert [form for form, base in _known_forms().items() if lemma(base) != base] == []


@pytest.mark.parametrize(
    "forms", [("bacteria", "bacterium"), ("mouse", "mice"), ("good", "better", "best")]
)
def test_forms_of_one_word_meet_in_one_lemma(forms: tuple[str, ...]) -> None:
    assert len({lemma(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["utf8", "don't", "日", "gnorp", "naive"])
def test_what_the_dictionary_does_not_know_is_its_own_lemma(word: str) -> None:
    assert lemma(word) == word


def test_the_vocabulary_holds_words_lemmas_their_other_forms_and_stop_words() -> None:
    found = vocabulary({"mice", "gnorp", "the", "日"})
    forms = list(found.forms)
    assert forms == sorted(set(forms), key=str.encode)
    assert {"mice", "mouse", "gnorp", "日", *stop_words()} <= set(forms)
    assert lemma_in(found, "mice") == lemma_in(found, "mouse") == "mouse"
    assert lemma_in(found, "gnorp") == "gnorp"
    assert all(lemma_in(found, word) is None for word in stop_words())
    assert found.lemma_of.dtype == np.int32


def test_no_lemma_leads_on_to_another() -> None:
    found = vocabulary({"bacterias", "sequestering", "doing", "best", "mice", "running"})
    targets = np.unique(found.lemma_of[found.lemma_of != STOPPED])
    onward = found.lemma_of[targets]
    assert ((onward == targets) | (onward == STOPPED)).all()


def test_no_words_make_a_vocabulary_of_stop_words() -> None:
    assert set(vocabulary(set()).forms) == set(stop_words())
