from ranklet.corpus.languages.spellings import Spellings

LISTS = {"de": frozenset({"die", "war"}), "fr": frozenset({"sur"}), "en": frozenset({"the", "was"})}


def test_stop_words_are_words_of_no_other_language_of_the_collection() -> None:
    spellings = Spellings(LISTS)
    spellings.add("Es war spät. " * 20 + "die " * 100, "de")
    spellings.add("The war was long and the patients die. The war was over.", "en")
    # 20 in German and 2 in English are a word of both, 100 and 1 are not.
    assert spellings.stop_words() == {"die", "sur", "the", "was"}
