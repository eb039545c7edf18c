from ranklet.training.indexing.language.spellings import Spelling, Spellings


def test_a_word_has_the_spelling_and_the_language_that_it_occurs_in_most_often() -> None:
    spellings = Spellings()
    spellings.add("Häuser hauser Häuser", "de")
    spellings.add("hauser", "en")
    spellings.add("l'été Gift", "fr")
    spellings.add("gift gift", "en")
    found = spellings.most_frequent()
    assert found["hauser"] == Spelling("Häuser", "de", 2)
    assert found["ete"] == Spelling("été", "fr", 1)
    assert found["gift"] == Spelling("gift", "en", 2)


def test_pairs_of_letters_have_no_spelling() -> None:
    spellings = Spellings()
    spellings.add("東京", "ja")
    assert spellings.most_frequent() == {}
