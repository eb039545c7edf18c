import sys
from types import SimpleNamespace

import pytest

from ranklet.runtime.text.stems import LANGUAGES, SNOWBALL, stemmer


@pytest.mark.parametrize("language", SNOWBALL)
def test_snowball_has_the_language(language: str) -> None:
    assert language in LANGUAGES
    assert stemmer(language)("abc")


def test_another_implementation_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", SimpleNamespace(algorithms=list, Stemmer=None))
    stemmer.cache_clear()
    assert stemmer("en")("kneading") == "knead"
