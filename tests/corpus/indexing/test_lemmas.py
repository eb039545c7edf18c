import numpy as np
import pytest

from ranklet.corpus.indexing.lemmas import vocabulary
from ranklet.corpus.languages.spellings import Spelling
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.words import stop_words


def lemma_in(found: Vocabulary, form: str) -> str | None:
    index = found.forms.find(form)
    lemma_id = int(found.lemma_of[index])
    assert index >= 0
    return None if lemma_id == STOPPED else found.forms[lemma_id]


def test_the_vocabulary_holds_words_lemmas_their_other_forms_and_stop_words() -> None:
    found = vocabulary({"mice", "gnorp", "the", "日"})
    forms = list(found.forms)
    assert forms == sorted(set(forms), key=str.encode)
    assert {"mice", "mouse", "gnorp", "日", *stop_words()} <= set(forms)
    assert lemma_in(found, "mice") == lemma_in(found, "mouse") == "mouse"
    assert lemma_in(found, "gnorp") == "gnorp"
    assert all(lemma_in(found, word) is None for word in stop_words())
    assert found.lemma_of.dtype == np.int32


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lemma", "lemma+stem", "stem", "none"])
def test_no_lemma_leads_on_to_another(method: str) -> None:
    seen = {"bacterias", "sequestering", "doing", "best", "mice", "running", "connections"}
    found = vocabulary(seen, method=method)
    targets = np.unique(found.lemma_of[found.lemma_of != STOPPED])
    onward = found.lemma_of[targets]
    assert ((onward == targets) | (onward == STOPPED)).all()


def test_no_words_make_a_vocabulary_of_stop_words() -> None:
    assert set(vocabulary(set()).forms) == set(stop_words())


def test_a_class_of_stems_has_the_name_of_a_word() -> None:
    found = vocabulary({"connections", "gnorpings"}, method="lemma+stem")
    assert lemma_in(found, "connections") == lemma_in(found, "connected") == "connect"
    assert lemma_in(found, "connective") == "connect"
    assert lemma_in(found, "gnorpings") == "gnorpings"


def test_the_name_of_a_class_does_not_depend_on_the_collection() -> None:
    one = vocabulary({"connectivity"}, method="lemma+stem")
    other = vocabulary({"connections", "connect"}, method="lemma+stem")
    assert lemma_in(one, "connectivity") == lemma_in(other, "connections")


def test_a_lemma_keeps_apart_what_a_stem_joins() -> None:
    found = vocabulary({"connections"}, method="lemma")
    assert lemma_in(found, "connections") == "connection"
    assert found.forms.find("connective") == -1


def test_without_a_normaliser_every_word_stands_for_itself() -> None:
    found = vocabulary({"mice", "the"}, method="none")
    assert lemma_in(found, "mice") == "mice"
    assert lemma_in(found, "the") is None
    assert found.forms.find("mouse") == -1


def test_how_a_word_was_written_decides_what_it_is_a_form_of() -> None:
    # Without accents, pêche (a peach) and pèche (he sins) are one word.
    peach = vocabulary({"peche"}, ["fr"], spellings={"peche": Spelling("pêche", "fr", 2)})
    sins = vocabulary({"peche"}, ["fr"], spellings={"peche": Spelling("pèche", "fr", 2)})
    assert lemma_in(peach, "peche") == "peche"
    assert lemma_in(sins, "peche") == "pecher"


def test_stop_words_are_classes_of_their_own() -> None:
    found = vocabulary({"sur", "thé"}, ["en", "fr"], "none", {}, frozenset({"the", "of"}))
    assert lemma_in(found, "sur") == "sur"
    assert lemma_in(found, "thé") == "thé"  # not named like the stop word
    assert [found.forms[each] for each in found.stopped] == ["of", "the"]
    assert (lemma_in(found, "the"), lemma_in(found, "of")) == ("the", "of")


def test_an_acronym_is_no_form_of_a_stop_word() -> None:
    found = vocabulary({"WHO", "us", "US"})
    assert lemma_in(found, "WHO") == "WHO"
    assert lemma_in(found, "US") == "US"
    assert lemma_in(found, "who") is lemma_in(found, "us") is None
