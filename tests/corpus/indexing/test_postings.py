from collections import Counter

import numpy as np
import pytest

from ranklet.corpus.indexing import postings as module
from ranklet.corpus.indexing.postings import Postings, Titles, invert
from ranklet.runtime.lexical.bm25 import idf, saturation

RNG = np.random.default_rng(0)
DOCUMENTS = [RNG.integers(0, 7, RNG.integers(0, 9)).tolist() for _ in range(50)]


def inverted(renumber: list[int] | None = None) -> Postings:
    tokens = np.array([token for document in DOCUMENTS for token in document], np.int32)
    offsets = np.cumsum([0, *map(len, DOCUMENTS)]).astype(np.int64)
    table = None if renumber is None else np.array(renumber, np.int32)
    return invert(tokens, offsets, 8, table)


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
@pytest.mark.parametrize("at_once", [1, 10, 1 << 20])
@pytest.mark.parametrize("renumber", [None, [0, 0, 1, 2, 3, 3, 7]])
def test_postings_count_each_term_of_each_document(
    monkeypatch: pytest.MonkeyPatch, block: int, at_once: int, renumber: list[int] | None
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "_TOKENS", at_once)
    monkeypatch.setattr(module, "_JOINED", at_once)
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


@pytest.mark.parametrize("block", [7, 1000])
def test_tokens_of_titles_count_as_often_as_they_are_said_to(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    titles = [len(document) // 3 for document in DOCUMENTS]
    tokens = np.array([token for document in DOCUMENTS for token in document], np.int32)
    offsets = np.cumsum([0, *map(len, DOCUMENTS)]).astype(np.int64)
    found = invert(tokens, offsets, 8, titles=Titles(np.array(titles, np.int64), 3))
    written = [document + 2 * document[:n] for document, n in zip(DOCUMENTS, titles, strict=True)]
    tokens = np.array([token for document in written for token in document], np.int32)
    expected = invert(tokens, np.cumsum([0, *map(len, written)]).astype(np.int64), 8)
    for name in ("offsets", "documents", "frequencies", "lengths"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
