import pytest
from tests.growth import grows_linearly

from ranklet.runtime.text.scripts import split, splitter
from ranklet.runtime.text.spellings import LETTERS, respelled, unaccented
from ranklet.runtime.text.words import placed_words, words


@pytest.mark.parametrize(
    "spellings",
    [
        "كتاب کتاب ڪتاب كِتَاب كتـاب ﻛﺘﺎﺏ",
        "علي على علی",
        "إسلام اسلام أسلام ٱسلام",
        "مدرسة مدرسه مدرسہ",
        "مسؤول مسوول",
        "شئ شي شى",
        "گهر ګهر",
        "שלום שָׁלוֹם",
        'צה״ל צה"ל צה”ל',
        "ג׳ינס ג'ינס",
        "װאָס וואס",
        "हिन्दी हिंदी हिँदी",
        "बंगाली बङ्गाली",
        "क़लम कलम क\u093cलम",
        "હિન્દી હિંદી",
        "ਸ਼ਹਿਰ ਸਹਿਰ",
        "বাঙ্গালী বাংগালী",
        "অকস্মাৎ অকস্মাত্\u200d",
        "ശാന്തൻ ശാന്തന്\u200d",
        "എന\u0d4dറെ എ\u0d7b\u0d4dറെ എന\u0d4d\u200dറെ എ\u0d7bറെ",
        "ഈണം ഇ\u0d57ണം",
        "\u0906ज \u0905\u093eज",
        "\u0914रत \u0905\u094cरत \u0906\u0948रत",
        "\u0a07ਹ \u0a72\u0a3fਹ",
        "\u0d86ව \u0d85\u0dcfව",
        "\u0d87ත \u0d85\u0dd0ත",
        "ක\u0ddbල ක\u0dd9\u0dd9ල",
        "\u0b94வை \u0b92\u0bb3வை",
        "க\u0bccரவம் க\u0bc6\u0bb3ரவம்",
        "ஶ்ரீ ஸ்ரீ",
        "น้ำ น\u0e4d\u0e49\u0e32 น้\u0e4d\u0e32",
        "แม่ เเม่",
        "ສະບາຍດີ",
        "ស្ដី ស្តី",
        "Αθήνα ΑΘΗΝΑ Αθηνα ἈΘῆΝΑ",
        "λόγος ΛΟΓΟΣ λόγοσ",
        "ёлка елка ЁЛКА",
        "ґрунт грунт",
        "п'ять п’ять пʼять",
        "և եւ եվ ԵՎ",
        "ինչպե՞ս ինչպես ԻՆՉՊԵՍ",
        "თბილისი ᲗᲑᲘᲚᲘᲡᲘ",
        "ሀገር ሐገር ኃገር",
        "ｺﾝﾋﾟｭｰﾀ コンピュータ",
        "いすゞ いすず",
        "한국 한국",
        "東京 東京",
        "ș ş",
        "Ｆｕｌｌ full",
    ],
)
def test_spellings_that_readers_take_for_equal_are_one_word(spellings: str) -> None:
    found = {tuple(split(each)) for each in spellings.split()}
    assert len(found) == 1
    assert found != {()}


@pytest.mark.parametrize("word", ["ஒளி", "ஒள்", "தெளிவு", "വെള്ളം"])
def test_a_tamil_la_with_a_vowel_of_its_own_is_no_part_of_another(word: str) -> None:
    assert respelled(word) == word


@pytest.mark.parametrize(
    "digits", ["٢٠٢٤", "۲۰۲۴", "२०२४", "২০২৪", "๒๐๒๔", "໒໐໒໔", "២០២៤", "၂၀၂၄", "༢༠༢༤", "２０２４"]
)
def test_digits_of_all_scripts_are_the_same(digits: str) -> None:
    assert split(digits) == words(digits) == ["2024"]


def test_letters_that_readers_tell_apart_are_different() -> None:
    different = ["کھا", "کہا", "ড", "ড়", "মন", "মণ", "لڑکے", "لڑکی", "漢", "汉"]
    assert len({tuple(split(each)) for each in different}) == len(different)


@pytest.mark.parametrize(
    "text", ["كِتَاب", "שָׁלוֹם", "ܫܠܳܡܳܐ", "ދިވެހި", "e\u1dc4", "x\u20d0y", "o\ufe20o\ufe21", "д\u0483"]
)
def test_marks_are_a_part_of_their_word(text: str) -> None:
    for find in (splitter().placed, placed_words):
        assert [(begin, end) for begin, end, _ in find(f"a {text} b")][1:-1] == [(2, 2 + len(text))]


@pytest.mark.parametrize(
    ("language", "written", "word"),
    [
        ("ar", "المدرسة والمدرسة بالمدرسة كالمدرسة فالمدرسة للمدرسة وبالمدرسة", "مدرسه"),
        ("ar", "الله", "الله"),
        ("ar", "والدة", "والده"),
        ("ar", "ألمانيا المانيا الألمانيا وألمانيا", "مانيا"),
        ("tr", "İstanbul'da İSTANBUL'DAN İstanbul’un istanbul'daki", "istanbul"),
        ("tr", "TÜRKİYE'NİN Türkiye", "turkiye"),
        ("tr", "Kur'an", "kur'an"),
        ("tr", "Kur'an'ı", "kur'an"),
        ("tr", "O'Neill", "o'neill"),
        ("az", "Bakı'dan Bakı'nın", "baki"),
        ("pl", "Joyce'a Joyce'owi Joyce", "joyce"),
        ("et", "Bordeaux'ni", "bordeaux"),
        ("fi", "show'n", "show"),
        ("fr", "İstanbul'da", "istanbul'da"),
    ],
)
def test_what_a_language_adds_to_a_word_is_left_out(language: str, written: str, word: str) -> None:
    assert set(splitter((language,)).words(written)) == {word}


def test_a_spelling_is_its_own_spelling() -> None:
    for letter in map(chr, LETTERS):
        assert respelled(respelled(letter)) == respelled(letter)
        assert unaccented(unaccented(letter)) == unaccented(letter)


@pytest.mark.parametrize(
    "text",
    ["ἀ " + "α" * 9_000, "a'" + "ni" * 5_000 + "x", "a'ni" * 3_000, 'א"' * 5_000, "म्" * 5_000],
)
def test_the_time_grows_with_the_length_of_a_text(text: str) -> None:
    assert grows_linearly(splitter(("tr", "ar")).words, text)
