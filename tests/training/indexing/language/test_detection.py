import pytest

from ranklet.training.indexing.language.detection import Detected, detect

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
        ("123 …", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert detect(text) == language


def test_a_rare_language_counts_as_the_most_frequent_one() -> None:
    detected = Detected()
    for text in [*[GERMAN] * 60, *[ENGLISH] * 39, "Les journaux du matin racontent la vie."]:
        detected.add(text)
    assert detected.languages() == ("de", "en")
    assert detected.each() == ["de"] * 60 + ["en"] * 39 + ["de"]


def test_texts_without_letters_are_english() -> None:
    detected = Detected()
    detected.add("1 2 3")
    assert (detected.languages(), detected.each()) == (("en",), ["en"])
