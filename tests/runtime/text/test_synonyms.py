import numpy as np
import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.runtime.text.synonyms import Synonyms

FORMS = SortedStrings.pack(
    ["apple", "auto", "big", "c", "c++", "car", "cars", "new", "the", "york"]
)
LEMMAS = np.array([0, 1, 2, 3, 4, 5, 5, 7, -1, 9], np.int32)


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary(FORMS, LEMMAS)


def found(
    text: str, query: str, vocabulary: Vocabulary
) -> list[tuple[str, list[tuple[str, float]]]]:
    return [
        (match.text, [(each.text, each.weight) for each in match.synonyms])
        for match in Synonyms(text, vocabulary).matches(query)
    ]


@pytest.mark.parametrize(
    ("text", "query", "wanted"),
    [
        ("car, auto * .5", "Cars", [("Cars", [("auto", 0.5)])]),
        ("car, auto * .5", "auto", [("auto", [("car", 1.0)])]),
        ("\ufeff# remark\r\n\r\ncar => auto\r\n", "the car!", [("car", [("auto", 1.0)])]),
        ("car => auto", "auto", []),
        ("new york => the big apple, ny", "new, York", [
            ("new, York", [("the big apple", 1.0), ("ny", 1.0)]),
        ]),
        ("new => car\nnew york => auto", "new york new", [
            ("new york", [("auto", 1.0)]), ("new", [("car", 1.0)]),
        ]),
        ("car => auto * .2\ncar, auto *.4", "car", [("car", [("auto", 0.4)])]),
        ("zork, car", "zork", [("zork", [("car", 1.0)])]),  # no document has the word
        ("car, cars", "car", []),  # one word
        ("c++ => auto", "c", []),
        ("c++ => auto", "c++", [("c++", [("auto", 1.0)])]),
    ],
)  # fmt: skip
def test_words_that_have_synonyms(
    text: str, query: str, wanted: object, vocabulary: Vocabulary
) -> None:
    assert found(text, query, vocabulary) == wanted


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("car", "line 2: 'car' has no synonym; write car, auto or"),
        ("car => auto => new", "two arrows"),
        ("car => ", "'' is no synonym"),
        ("car, , auto", "'' is no synonym"),
        ("pin: car", "'pin: car' is no rule; write pin: big pot => A-1, A-2"),
        ("hide: car => A-1, ", "is no rule; write hide: big"),
        ("pin: car * .5 => A-1", "is no rule"),
        ("pin: the => A-1", "only stop words"),
        ("pin: car => A-1\nhide: Cars => A-1", "'A-1' is pinned and hidden for 'Cars'"),
        ("car, auto * 2", "weight above 0 and at most 1"),
        ("car, auto * 0", "weight above 0 and at most 1"),
        ("car * .5 => auto", "belongs right of =>"),
        ("car, the", "'the' has only stop words"),
        ("car, " + "big " * 9, "more than 8 words"),
    ],
)
def test_a_line_that_cannot_be_read(line: str, message: str, vocabulary: Vocabulary) -> None:
    with pytest.raises(InputError, match=r"synonyms, line [23]: ") as raised:
        Synonyms(f"\n{line}", vocabulary)
    assert message in str(raised.value)
