import numpy as np

from ranklet.corpus.indexing.vocabulary import places, vocabulary
from ranklet.runtime.text.analysis import NO_WORD, STOPPED, Vocabulary
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.words import stop_words


def class_in(found: Vocabulary, form: str, beginning: bool = False) -> str | int:
    ids = found.beginning_of if beginning else found.lemma_of
    assert ids is not None
    number = int(ids[found.forms.find(form)])
    return number if number < 0 else found.forms[number]


def test_it_has_words_their_stems_and_stop_words() -> None:
    found = vocabulary({"mice", "generally", "the", "日"}, stopped=stop_words())
    forms = list(found.forms)
    assert forms == sorted(set(forms), key=str.encode)
    assert class_in(found, "mice") == "mous"
    assert class_in(found, "mous") == NO_WORD  # so it is no word that a typo may mean
    assert class_in(found, "日") == "日"
    assert all(class_in(found, word) == STOPPED for word in stop_words())
    assert found.beginning_of is None
    assert (found.find("mice") >= 0, found.find("mous")) == (True, -1)


def test_other_languages_have_beginnings_and_stop_words_are_indexed() -> None:
    classes = WordClasses(["de"], "stem")
    found = vocabulary({"dokumente", "see", "der"}, ["de"], classes, frozenset({"der", "weg"}))
    assert class_in(found, "dokumente", beginning=True) == "dokum…"
    assert class_in(found, "dokum…") == class_in(found, "dokum…", beginning=True) == NO_WORD
    assert class_in(found, "see", beginning=True) == "see…"
    assert [found.forms[each] for each in found.stopped] == ["der", "weg"]
    assert class_in(found, "weg") == "weg"  # no text has it


def test_without_stems_a_word_is_its_own_class() -> None:
    found = vocabulary({"dokumente"}, ["de"], WordClasses(["de"], "none"), set())
    assert list(found.forms) == ["dokumente"]
    assert found.beginning_of is None


def test_given_forms_are_words_and_no_other_word_has_a_class() -> None:
    found = vocabulary({"mice", "gnus"}, ["de"], {"mice": "mouse", "feet": "foot"})
    assert class_in(found, "mice") == "mouse"
    assert class_in(found, "feet") == "foot"
    assert class_in(found, "gnus") == "gnus"
    assert found.beginning_of is None
    assert found.lemma("geese") == "geese"


def test_known_lemmas_are_not_looked_up_again() -> None:
    assert class_in(vocabulary({"mice"}, lemmas={"mice": "rodent"}), "mice") == "rodent"


def test_places_of_few_and_of_many_strings_are_the_same() -> None:
    forms = vocabulary({f"word{number}" for number in range(100)}).forms
    few, many = {"word7", "gnu"}, {*forms, "gnu", chr(0xD83D)}
    assert len(few) * 32 < len(forms) < len(many) * 32
    everywhere = places(forms, many)
    assert everywhere == {form: at for at, form in enumerate(forms)} | {"gnu": -1, chr(0xD83D): -1}
    assert places(forms, few) == {form: everywhere[form] for form in few}


def test_ids_are_32_bits_wide() -> None:
    assert vocabulary({"one"}).lemma_of.dtype == np.int32
