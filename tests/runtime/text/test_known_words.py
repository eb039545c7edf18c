from collections import Counter

import pytest

from ranklet.runtime.text.known_words import KnownWords
from ranklet.runtime.text.scripts import splitter


def known(language: str, **counts: int) -> KnownWords:
    return KnownWords({language}, lambda word: counts.get(word, 0), Counter(counts).total)


GERMAN = known("de", dokument=9, baum=4, datei=8, format=7, netz=3, werk=3, werkzeug=5, kasten=3)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("Dokumentenbaum", ["dokument", "baum"]),  # a link between the parts
        ("Dateiformate", []),  # formate is unknown
        ("Dateiformat", ["datei", "format"]),
        ("Werkzeugkasten", ["werkzeug", "kasten"]),
        ("Netzwerk", ["netz", "werk"]),
        ("Netzbau", []),
        ("baumwerk2", []),
    ],
)
def test_a_compound_gives_its_parts_and_then_itself(word: str, parts: list[str]) -> None:
    split = splitter(("de",), known=GERMAN)
    assert split.words(f"Der {word} ist.")[1:-1] == [*parts, word.lower()]
    assert split.is_compound(word.lower()) == bool(parts)


def test_words_of_other_languages_are_not_divided() -> None:
    french = known("fr", porte=9, feuille=9)
    assert splitter(("fr",), known=french).words("portefeuille") == ["portefeuille"]


def test_parts_have_places_in_their_word() -> None:
    split = splitter(("de",), known=known("de", strasse=3, bahn=3, fahrt=3))
    assert next(split.placed("Bahnfahrt")) == (0, 4, "bahn")
    # A letter that is two in the index leaves no own places.
    assert [place[:2] for place in split.placed("Straßenbahn")] == [(0, 11)] * 3


def test_a_run_without_spaces_gives_the_words_of_the_collection() -> None:
    japanese = known("ja", 空間=5, データ=9, 向け=3, 空=2, 間=2)
    split = splitter(("ja",), known=japanese)
    assert split.words("空間データ向け") == ["空間", "データ", "向け"]
    assert list(split.placed("X の空間デ"))[2:] == [(3, 5, "空間"), (5, 6, "デ")]


def test_letters_outside_of_known_words_are_pairs() -> None:
    split = splitter(("ja",), known=known("ja", 空間=5))
    assert split.words("空間メソッド") == ["空間", "メソ", "ソッ", "ッド"]
    assert split.words("한국어") == ["한국", "국어"]


def test_chinese_words_stand_next_to_pairs() -> None:
    split = splitter(("zh",), known=known("zh", 北京市=5, 是=9))
    assert split.words("北京市是") == ["北京市", *splitter(("zh",)).words("北京市是")]


def test_marks_stay_with_their_letters() -> None:
    split = splitter(("th",), known=known("th", แมว=5, นอน=3))
    assert split.words("แมวนอน") == ["แมว", "นอน"]


def test_a_run_is_divided_without_asking_for_words_that_nothing_begins() -> None:
    asked = list[str]()

    def count(word: str) -> int | None:
        asked.append(word)
        return {"空": 0, "空間": 5}.get(word)

    words = KnownWords({"ja"}, count, lambda: 5)
    assert words.division("空間都" * 2) == [
        ((0, 2), True), ((2, 3), False), ((3, 5), True), ((5, 6), False)
    ]  # fmt: skip
    assert set(asked) == {"空", "空間", "空間都", "間", "都"}
