"""Forms of one word have one class, words that only look alike have several."""

import pytest

from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.scripts import fold

ALIKE = {
    "en": ["mouse mice", "child children", "woman women", "go went gone", "foot feet",
           "knead kneads", "oreilly o'reilly", "hawaii hawai'i"],
    "de": ["haus hauser hause", "gehen ging gegangen", "museum museen", "muller mueller",
           "strasse strassen", "jorg joerg", "oesterreich osterreich"],
    "fr": ["cheval chevaux", "oeil yeux", "travail travaux", "aujourdhui aujourd'hui"],
    "es": ["voz voces", "dormir duerme"],
    "it": ["uomo uomini", "uovo uova", "dire disse"],
    "nl": ["kind kinderen", "stad steden", "gaan ging"],
    "pt": ["pao paes", "animal animais", "mao maos"],
    "sv": ["fot fotter", "bok bocker", "goteborg goeteborg"],
    "da": ["fod fodder", "arhus aarhus"],
    "nb": ["fot fotter", "bonde bonder"],
    "pl": ["czlowiek ludzie", "oko oczy", "dom domy"],
    "ru": ["человек людей", "ребенок дети", "книга книги"],
    "hi": ["घर घरों", "बच्चा बच्चों", "किताब किताबें", "लडका लडके"],
    "ta": ["புத்தகம் புத்தகங்கள்"],
    "fa": ["كتاب كتابها"],
    "tr": ["kitap kitaplar"],
    "uk": ["пятниця п'ятниця"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "forms"), [(code, each) for code, every in ALIKE.items() for each in every]
)
def test_forms_of_one_word_have_one_class(language: str, forms: str) -> None:
    classes = WordClasses([language], "stem")
    assert len({classes.of(fold(form)) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "forms", ["quelle qulle", "neue nue", "bauer baur", "found find", "left leave"]
)
def test_other_words_have_other_classes(forms: str) -> None:
    language = "en" if forms.startswith(("f", "l")) else "de"
    classes = WordClasses([language], "stem")
    assert len({classes.of(form) for form in forms.split()}) == 2


def test_without_stems_only_spellings_of_one_word_are_alike() -> None:
    classes = WordClasses(["de"], "none")
    assert classes.of("mueller") == classes.of("muller") == "muller"
    assert classes.of("hauser") == "hauser"
    assert not classes.begin


def test_the_first_language_that_changes_a_word_decides() -> None:
    classes = WordClasses(["en", "fr", "ru"], "stem")
    assert classes.of("houses") == classes.of("house")
    assert classes.of("chevaux") == "cheval"
    assert classes.of("книги") == classes.of("книга")
    assert classes.begin


def test_words_of_languages_that_do_not_change_have_no_beginnings() -> None:
    assert not WordClasses(["en"], "stem").begin
    assert not WordClasses(["ja", "en"], "stem").begin
    assert WordClasses(["ja", "de"], "stem").begin


def test_a_beginning_has_letters_of_the_word_alone() -> None:
    classes = WordClasses(["uk"], "stem")
    assert classes.beginning("п'ятниця") == "пятни…"
    assert classes.beginning("рік") == "рік…"
    assert WordClasses(["de"], "stem").beginning("mueller") == "mulle…"


@pytest.mark.parametrize("word", ["utf8", "2024", "c++", "WHO", "日"])
def test_other_words_than_those_of_letters_stay(word: str) -> None:
    assert WordClasses(["en"], "stem").of(word) == word
