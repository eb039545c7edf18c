from ranklet.corpus.languages.spellings import Spelling, Spellings
from ranklet.runtime.text.scripts import split

LISTS = {"de": frozenset({"die", "war"}), "fr": frozenset({"sur"}), "en": frozenset({"the", "was"})}


def test_a_word_has_the_spelling_and_the_language_that_it_occurs_in_most_often() -> None:
    spellings = Spellings(LISTS)
    spellings.add("Häuser hauser Häuser", "de")
    spellings.add("hauser", "en")
    spellings.add("l'été Gift", "fr")
    spellings.add("gift gift", "en")
    found = spellings.most_frequent(split)
    assert found["hauser"] == Spelling("Häuser", "de", 2)
    assert found["ete"] == Spelling("été", "fr", 1)
    assert found["gift"] == Spelling("gift", "en", 2)


def test_pairs_of_letters_have_no_spelling() -> None:
    spellings = Spellings({"ja": frozenset()})
    spellings.add("東京", "ja")
    assert spellings.most_frequent(split) == {}


def test_stop_words_are_words_of_no_other_language_of_the_collection() -> None:
    spellings = Spellings(LISTS)
    spellings.add("Es war spät. " * 20 + "die " * 100, "de")
    spellings.add("The war was long and the patients die. The war was over.", "en")
    # 20 in German and 2 in English are a word of both, 100 and 1 are not.
    assert spellings.stop_words() == {"die", "sur", "the", "was"}
    assert spellings.most_frequent(split)["war"] == Spelling("war", "en", 2)


def test_the_stop_words_of_a_single_language_are_its_list() -> None:
    assert Spellings({"fr": frozenset({"sur"})}).stop_words() == {"sur"}
