import numpy as np
import pytest

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.syntax import word_places
from ranklet.runtime.syntax.word_places import Reading

TEXTS = [[1, 2, 3], [2, 1], [1, 9, 2], [], [1, 9, 9, 9, 9, 9, 2], [3, 1], [2, 1, 1, 2]]


def forward() -> Forward:
    offsets = np.append(0, np.cumsum([len(text) for text in TEXTS]))
    return Forward(offsets, np.array([each for text in TEXTS for each in text], np.int32))


def wanted(*words: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(np.arange(10), words)


@pytest.mark.parametrize("tokens", [1, 4, 1000])
@pytest.mark.parametrize("few", [0, 1000])
def test_words_in_a_row_are_found_however_documents_are_read(
    tokens: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_places, "_TOKENS", tokens)
    monkeypatch.setattr(word_places, "_FEW", few)
    found, alone = list[int](), list[int]()
    for places in Reading(forward(), None, wanted(1, 2, 3)).places(Deadline()):
        found += places.in_a_row((1, 2)).tolist()
        alone += places.in_a_row((3,)).tolist()
    assert found == [0, 2, 6]  # four words at most may be in between
    assert alone == [0, 5]


@pytest.mark.parametrize("few", [0, 1000])
def test_only_some_documents_are_read(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_places, "_FEW", few)
    some = np.array([False, True, False, False, True, False, True])
    (places,) = Reading(forward(), some, wanted(2)).places(Deadline())
    assert places.documents.tolist() == [1, 4, 6, 6]
    assert list(Reading(forward(), some, wanted()).places(Deadline())) == []


def test_at_the_deadline_the_rest_stays_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_places, "_TOKENS", 5)
    reading = Reading(forward(), None, wanted(1))
    assert len(list(reading.places(Deadline(0)))) == 1
    assert np.flatnonzero(reading.unread).tolist() == [2, 3, 4, 5, 6]
