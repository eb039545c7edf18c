import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import grows_linearly

from ranklet.runtime.text.scripts import bare_words, spaced, split, splitter
from ranklet.runtime.text.words import stop_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("…—!?", []),
        ("Les journaux de l’été", ["les", "journaux", "de", "ete"]),
        ("qu'il n'est d'", ["il", "est", "d"]),
        ("aujourd'hui dell'arte", ["aujourd'hui", "arte"]),
        ("o'neill rock'n'roll Hans's", ["o'neill", "rock'n'roll", "hans"]),
        ("Straße Häuser", ["strasse", "hauser"]),
        ("Москва́ ёлка м’яч", ["москва", "елка", "м'яч"]),
        ("ISPARTA ısparta", ["isparta", "isparta"]),
        ("می\u200cخواهم", ["مي", "خواهم", "ميخواهم"]),
        ("soft\u00adhyphen Auf\u200clage क्\u200cष", ["softhyphen", "auflage", "क्ष"]),
        ("हिन्दी में", ["हिंदी", "में"]),
        ("தமிழ்", ["தமிழ்"]),
        ("日本語", ["日", "日本", "本", "本語", "語"]),
        ("猫", ["猫"]),
        ("かな", ["かな"]),
        ("がぎ", ["がぎ"]),
        ("ｶﾞﾗｽ", ["ガラ", "ラス"]),
        ("한국어 텍스트", ["한국", "국어", "텍스", "스트"]),
        ("ไทย", ["ไท", "ทย"]),
        ("น้ำ", ["น้ำ"]),
        ("Python入門3", ["python", "入", "入門", "門", "3"]),
        ("ສະບາຍ", ["ສະ", "ະບ", "ບາ", "າຍ"]),
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        ("ខ្ញុំ។", ["ខ្ញុំ"]),
    ],
)
def test_words_of(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@given(st.text("aZé_-. 5ßñ"))
def test_without_apostrophes_european_texts_are_split_as_in_english(text: str) -> None:
    assert splitter(("fr",), stop_words()).words(text) == words(text)


def test_spaced_words_keep_capitals_and_accents() -> None:
    text = "L’été in Zürich 東京 ไทย Hans's"
    assert spaced(text, bare_words(("fr",))) == ["été", "in", "Zürich", "Hans"]
    assert spaced("İstanbul'da", bare_words(("tr",))) == ["İstanbul"]


@pytest.mark.parametrize(
    ("language", "stopped", "text", "expected"),
    [
        ("vi", {"năm", "đang"}, "Nam năm Đặng đang", ["nam", "năm", "dang", "đang"]),
        ("fr", {"sur"}, "sur SÛR sûre", ["sur", "sûr", "sure"]),  # sûr would be sur without accents
        ("fr", {"sur"}, "su\u0302r", ["sûr"]),
        ("de", {"die"}, "die DIE Die", ["die", "DIE", "die"]),
        ("ar", {"على"}, "على عَلَى علي", ["على", "على", "علي"]),
        ("ar", {"كل", "الذي"}, "الكل الذي الكتاب", ["الكل", "الذي", "كتاب"]),
        ("fr", {"il", "qu"}, "qu'il", ["il"]),
        ("ko", {"각"}, "각", ["각"]),
    ],
)
def test_a_stop_word_is_one_in_its_own_spelling_only(
    language: str, stopped: set[str], text: str, expected: list[str]
) -> None:
    split_by = splitter((language,), frozenset(stopped))
    assert split_by.words(text) == expected
    assert [word for _, _, word in split_by.placed(text)] == expected
    assert list(map(split_by.key, expected)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["é" * 3_000, "a'" * 5_000, "日" * 3_000, "นำ" * 2_000, "हि" * 2_000]
)
def test_the_time_grows_with_the_length_of_a_text_and_not_with_its_square(text: str) -> None:
    assert grows_linearly(split, text)
