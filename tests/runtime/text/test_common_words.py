"""Words of a query in texts, in whatever form and script."""

from pathlib import Path

import pytest

from ranklet.export.build import build
from ranklet.runtime.text.common_words import common_words


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
    places = common_words(query, bundle.files.analyzer.begin())(text)
    shown = {text[begin:end] for begin, end in places}
    assert set(found.split()) <= shown
    assert not shown & {"the", "superuser", "यह", "看"}
