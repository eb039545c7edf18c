import sys

import pytest

from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.errors import InputError


def test_the_language_becomes_its_code() -> None:
    assert TextOptions(language="German").language == "de"
    assert TextOptions(language="auto").language == "auto"


def test_what_is_not_allowed_is_refused() -> None:
    with pytest.raises(InputError, match="unknown language 'klingon'"):
        TextOptions(language="klingon")
    with pytest.raises(InputError, match="lemma, lemma\\+stem, stem"):
        TextOptions(normaliser="stems")


@pytest.mark.parametrize(
    ("language", "method"), [("en", "stem"), ("auto", "stem"), ("de", "stem"), ("th", "none")]
)
def test_without_lemmas_words_are_compared_by_stems_or_as_they_are(
    language: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TextOptions(language=language).method == "lemma"
    monkeypatch.setitem(sys.modules, "simplemma", None)
    assert TextOptions(language=language).method == method
    assert TextOptions(language=language, normaliser="lemma").method == "lemma"
