from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.syntax import exact_phrases
from ranklet.runtime.syntax.exact_phrases import has_phrase
from ranklet.runtime.text.analysis import splitter
from ranklet.runtime.text.searchable import make_searchable, row_pattern
from ranklet.runtime.text.splitter import Splitter

LANGUAGES = ("en", "fr", "it", "de", "tr", "fi", "pl", "ru", "el", "ar", "ja", "hi")
WORDS = (
    "art the State WHO who c C++ x iPhone getUserName myXFoo a1Foo python's dell'arte l'été",
    "İstanbul'da d'o'neill Über uber STRASSE straße naïve über-groß UTF-8 v1.2 x.y.z 1,000",
    "and/or I/O don't ﬁn Café CAFÉ ёлка Елка όδος ΟΔΟΣ coöperate co\u00adop x² ½ a\u0301",
    "str_replace @me #tag .net U.S.A. rock'n'roll l’eau 図書館 हिन्दी المدرسة",
)
SEPARATORS = (" ", "  ", ", ", ". ", " - ", "-", "/", "'", "’", " — ", "\n", " ...... ", "_", "")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@given(seed=st.integers(0, 100_000))
def test_no_phrase_is_missed(language: str, seed: int) -> None:
    """A text that has a phrase has its pattern, whatever signs and capitals stand between."""
    random, split = Random(seed), splitter((language,), frozenset({"the", "la", "il"}))
    pieces = random.choices(" ".join(WORDS).split(), k=random.randint(3, 9))
    text = "".join(each + random.choice(SEPARATORS) for each in pieces)
    begin = random.randrange(len(pieces))
    phrases = [" ".join(pieces[begin : begin + random.randint(1, 3)])]
    words = split.words(text) or ["x"]
    begin = random.randrange(len(words))
    phrases.append(" ".join(words[begin : begin + random.randint(1, 3)]))
    for phrase in phrases:
        if split.words(phrase) and _has(text, phrase, split, quick=False):
            assert _has(text, phrase, split, quick=True), (text, phrase)


def _has(text: str, phrase: str, split: Splitter, *, quick: bool) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        if not quick:
            patch.setattr(exact_phrases, "make_searchable", lambda *_: None)
        return has_phrase(text, phrase, split)


def test_what_depends_on_other_characters_is_left_to_the_analysis() -> None:
    split = splitter(("en",))
    assert make_searchable("Café’s NAÏVE", split) == "cafe's naive"
    assert make_searchable("図書館", split) is None
    assert row_pattern(["c++", "code"]) is None
    assert row_pattern(["हिंदी"]) is None
