import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.lexical.bm25 import idf, saturation


def plain_bm25(
    query: list[str], document: list[str], corpus: list[list[str]], k1: float, b: float
) -> float:
    """BM25 as a textbook writes it, with nothing of ours."""
    average = sum(map(len, corpus)) / len(corpus)
    score = 0.0
    for term in query:
        df = sum(term in each for each in corpus)
        tf = Counter(document)[term]
        weight = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
        if tf:
            score += weight * tf / (tf + k1 * (1 - b + b * len(document) / average))
    return score


CORPUS = [["a", "b", "a"], ["b"], ["c", "d", "d", "d", "e", "f"], ["a", "f"]]


@pytest.mark.parametrize("k1", [0.0, 0.9, 3.0])
@pytest.mark.parametrize("b", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("query", [["a"], ["a", "a", "b"], ["d", "f"], ["x"]])
def test_idf_times_saturation_is_bm25(query: list[str], k1: float, b: float) -> None:
    lengths = np.array([len(each) for each in CORPUS])
    scores = np.zeros(len(CORPUS))
    for term in query:
        tf = np.array([each.count(term) for each in CORPUS])
        df = np.array([np.count_nonzero(tf)])
        scores += idf(df, len(CORPUS)) * saturation(tf, lengths, float(lengths.mean()), k1, b)
    wanted = [plain_bm25(query, document, CORPUS, k1, b) for document in CORPUS]
    np.testing.assert_allclose(scores, wanted, rtol=1e-5)


@given(st.integers(1, 10**9), st.data())
def test_idf_is_positive_and_falls_with_df(documents: int, data: st.DataObject) -> None:
    df = np.sort(data.draw(st.lists(st.integers(0, documents), min_size=2).map(np.array)))
    values = idf(df, documents)
    assert (values > 0).all()
    assert (np.diff(values) <= 0).all()


def test_saturation_stays_within_zero_and_one_and_grows_with_tf() -> None:
    tf = np.arange(0, 1000)
    values = saturation(tf, np.full(1000, 50), 50.0, 0.9, 0.4)
    assert values[0] == 0
    assert (np.diff(values) > 0).all()
    assert values[-1] < 1


def test_an_empty_collection_divides_by_nothing() -> None:
    assert saturation(np.array([0, 1]), np.array([0, 1]), 0.0, 0.9, 0.4)[0] == 0
