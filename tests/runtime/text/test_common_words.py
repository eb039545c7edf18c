"""Words of a query in texts, in whatever form and script."""

from pathlib import Path
from random import Random

import pytest

from ranklet.runtime.text.common_words import CommonWords
from ranklet.workflows.build import build


@pytest.mark.parametrize(
    ("language", "query", "text", "found"),
    [
        ("en", "knead a dough", "Kneading (the) DOUGHS, kneads-dough", "Kneading DOUGHS kneads"),
        ("en", "cafe", "a Café, a café", "Café café"),
        ("en", "user", "user_name, user.name, superuser", "user"),
        ("hi", "हिन्दी भाषा", "यह हिन्दी भाषा है", "हिन्दी भाषा"),
        ("zh", "图书馆", "我们去图书馆看书", "图书 书馆"),
    ],
)
def test_words_are_found_in_their_forms(
    tmp_path: Path, language: str, query: str, text: str, found: str
) -> None:
    bundle = build([{"id": "1", "text": text}], tmp_path / "b", language=language)
    places = CommonWords(query, bundle.files.analyzer.begin())(text)
    shown = {text[begin:end] for begin, end in places}
    assert set(found.split()) <= shown
    assert not shown & {"the", "superuser", "यह", "看"}


WORDS = {
    "en": "knead Kneading KNEADS dough doughs mouse mice user userName UserNames WHO who the it's "
    "O'Neill neill go went café Café naïve C++ .net 2.0 2 well-known str_replace NASA nasa ²x a I",
    "de": "Häuser haus HAUS Mueller müller Straße strasse gehen ging Dokumente dokument im über",
    "fr": "l’été été ETE l'homme hommes cœur coeur œuvre à du",
    "tr": "İstanbul istanbul ISPARTA’nın ısparta ev evler",
    "ru": "красный красная ещё еще дом дома ДОМ йод",
    "el": "οδός ΟΔΟΣ οδοσ σκύλος σκύλοι",
    "ar": "الكتاب كتاب كتب والكتاب",
    "zh": "图书馆 图书 书 去图书馆 Beijing 北京",
    "hi": "हिन्दी हिंदी भाषा भाषाएँ",
}


@pytest.mark.parametrize("language", WORDS)
def test_what_vocabularies_know_is_found_as_by_analysis(tmp_path: Path, language: str) -> None:
    draw, words = Random(7), WORDS[language].split()

    def text() -> str:
        return "".join(
            draw.choice(words)
            + draw.choice([" ", " ", " ", ", ", ". ", "—", "-", "'s ", "\n", "(“"])
            for _ in range(draw.randint(5, 60))
        )

    texts = [text() for _ in range(40)]
    rows = [{"id": str(at), "text": each} for at, each in enumerate(texts)]
    bundle = build(rows, tmp_path / "b", language=language)
    analyzer, found = bundle.files.analyzer, 0
    for _ in range(25):
        query = " ".join(draw.sample(words, 3))
        quick = CommonWords(query, analyzer.begin(), [analyzer.vocabulary])
        slow = CommonWords(query, analyzer.begin())
        for each in texts:
            assert quick(each) == slow(each), (query, each)
            found += len(slow(each))
    assert found > 100
