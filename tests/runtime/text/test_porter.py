import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.text.porter import stem
from ranklet.runtime.text.words import stop_words


def original(word: str) -> str:
    from nltk.stem.porter import PorterStemmer  # which imports scipy.stats, a second of work

    stemmer = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
    found: str = stemmer.stem(word)
    return found


# The examples of the paper's own text, step by step.
GOLDEN = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "cats": "cat", "feed": "feed",
    "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "falling":
    "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy":
    "happi", "sky": "sky", "relational": "relat", "conditional": "condit", "rational": "ration",
    "digitizer": "digit", "radically": "radic", "vietnamization": "vietnam", "operator": "oper",
    "feudalism": "feudal", "hopefulness": "hope", "sensibility": "sensibl", "triplicate": "triplic",
    "electrical": "electr", "goodness": "good", "revival": "reviv", "airliner": "airlin",
    "adjustable": "adjust", "replacement": "replac", "adoption": "adopt", "communism": "commun",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controlling": "control", "roll": "roll",
    "": "", "y": "y", "s": "", "ing": "ing", "4s": "4", "naïvely": "naïv",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), GOLDEN.items())
def test_golden(word: str, expected: str) -> None:
    assert stem(word) == expected


ENDINGS = (
    "", "s", "es", "ed", "eed", "ing", "y", "ly", "ational", "tional", "enci", "ization", "ator",
    "aliti", "biliti", "icate", "ative", "ness", "ement", "ment", "ent", "ion", "sion", "tion", "e",
    "ll", "ible", "ousli", "logi", "er", "ies", "ied",
)  # fmt: skip


@given(st.text("abeilosttyyzx", min_size=1, max_size=7), st.sampled_from(ENDINGS))
def test_it_is_the_published_algorithm(beginning: str, ending: str) -> None:
    assert stem(beginning + ending) == original(beginning + ending)


def test_stop_words_have_the_published_stems() -> None:
    for word in stop_words():
        assert stem(word) == original(word)
