from collections import Counter

import numpy as np
import pytest

from ranklet.runtime.lexical.bm25 import idf, saturation
from ranklet.training.indexing import postings as module
from ranklet.training.indexing.postings import Postings, invert

RNG = np.random.default_rng(0)
DOCUMENTS = [RNG.integers(0, 7, RNG.integers(0, 9)).tolist() for _ in range(50)]


def inverted(renumber: list[int] | None = None) -> Postings:
    tokens = np.array([token for document in DOCUMENTS for token in document], np.int32)
    offsets = np.cumsum([0, *map(len, DOCUMENTS)]).astype(np.int64)
    table = None if renumber is None else np.array(renumber, np.int32)
    return invert(tokens, offsets, 8, table)


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
@pytest.mark.parametrize("renumber", [None, [0, 0, 1, 2, 3, 3, 7]])
def test_postings_count_each_term_of_each_document(
    monkeypatch: pytest.MonkeyPatch, block: int, renumber: list[int] | None
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    found = inverted(renumber)
    expected = []
    for term in range(8):
        for number, document in enumerate(DOCUMENTS):
            counts = Counter(document if renumber is None else [renumber[t] for t in document])
            if counts[term]:
                expected.append((term, number, counts[term]))
    terms = np.repeat(np.arange(8), np.diff(found.offsets))
    rows = zip(terms.tolist(), found.documents.tolist(), found.frequencies.tolist(), strict=True)
    assert list(rows) == expected
    assert found.lengths.tolist() == [len(document) for document in DOCUMENTS]


def test_impacts_are_the_same_whatever_is_computed_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postings = inverted()
    df = np.diff(postings.offsets)
    lengths = postings.lengths[postings.documents]
    weights = saturation(postings.frequencies, lengths, postings.average_length, 0.9, 0.4)
    expected = weights * np.repeat(idf(df, len(DOCUMENTS)), df)
    for count in (1, 10, 1 << 20):
        monkeypatch.setattr(module, "_IMPACTS", count)
        index = postings.bm25(0.9, 0.4)
        assert np.array_equal(index.impacts, expected)
    assert index.largest[7] == 0  # a term without postings
