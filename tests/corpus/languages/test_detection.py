import sys

import pytest

from ranklet.corpus.languages.detection import compute_shares, detect_languages

GERMAN = "Die Häuser in der alten Stadt sind klein und haben schöne Gärten."
ENGLISH = "The houses of the old town are small and have beautiful gardens."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        (ENGLISH, "en"),
        ("Les journaux du matin racontent la vie des chevaux.", "fr"),
        ("В старых городах много красивых домов.", "ru"),
        ("東京は日本の首都であり、世界最大の都市です。", "ja"),
        ("北京是中国的首都，也是一座历史悠久的城市。", "zh"),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "th"),
        ("123 …", "en"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert list(compute_shares([text])) == [language]


def test_a_rare_language_counts_as_a_frequent_one() -> None:
    texts = [*[GERMAN] * 60, *[ENGLISH] * 39, "Les journaux du matin racontent la vie."]
    shares = compute_shares(texts)
    assert list(shares) == ["de", "en"]
    assert list(detect_languages(texts[:99], shares)) == ["de"] * 60 + ["en"] * 39
    assert set(detect_languages(texts, shares)) == {"de", "en"}


def test_a_text_that_says_little_is_in_the_language_of_the_others() -> None:
    alone = "Rainbow program"  # would be taken for another language
    assert list(compute_shares([GERMAN] * 5 + [alone])) == ["de"]


def test_few_texts_that_say_little_are_english() -> None:
    for text in ("Cats", "Bicycle pump", "red wool", "Samsung Galaxy S21 64GB", "1 2 3"):
        assert list(compute_shares([text])) == ["en"]


def test_english_needs_no_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    assert compute_shares([ENGLISH] * 99 + ["1"]) == {"en": 1.0}
