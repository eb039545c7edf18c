import sys
from importlib import import_module
from random import Random
from types import SimpleNamespace

import pytest

from ranklet.runtime.text.irregular import bases
from ranklet.runtime.text.stems import LANGUAGES, SNOWBALL, stemmer


@pytest.mark.parametrize("language", SNOWBALL)
def test_stems_are_those_of_snowball(language: str) -> None:
    name = SNOWBALL[language]
    module = import_module(f"snowballstemmer.{name}_stemmer")
    original = getattr(module, f"{name.capitalize()}Stemmer")()
    affixes = {
        each.s
        for table in vars(type(original)).values() if isinstance(table, tuple | list)
        for each in table if hasattr(each, "s")
    }  # fmt: skip
    rng, some = Random(0), sorted(affixes) or [""]
    made = ["".join(rng.choices(some, k=3)) for _ in range(100)]
    heads = [word + ending for word in ("generat", "вод", "haus", "कलम") for ending in some[:40]]
    letters = ["".join(rng.choices("aeiouybdlmnrst", k=rng.randint(1, 6))) for _ in range(100)]
    ended = [head + rng.choice([*some, "", "l", "r"]) for head in letters]
    for word in ("", "a", *made, *heads, *letters, *ended, *list(bases(language))[:50]):
        assert stemmer(language)(word) == original.stemWord(word), word
    assert language in LANGUAGES


def test_another_implementation_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", SimpleNamespace(algorithms=list, Stemmer=None))
    stemmer.cache_clear()
    assert stemmer("en")("kneading") == "knead"
