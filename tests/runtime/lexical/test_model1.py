import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.model1 import TranslationTable, log_odds, translation_likelihoods
from ranklet.runtime.storage.forward import Gathered

TOKENS = 6  # in the table's vocabulary; 6 and 7 are unknown to it
Table = dict[int, dict[int, float]]  # T(q|d) by q, then d, without self-translations

TABLES = st.dictionaries(
    st.integers(0, TOKENS - 1), st.dictionaries(st.integers(0, TOKENS - 1), st.floats(1e-3, 1))
).map(lambda table: {q: {d: p for d, p in row.items() if d != q} for q, row in table.items()})
TEXTS = st.lists(st.integers(0, TOKENS + 1), max_size=6)


def plain_likelihood(q: int, document: list[int], table: Table, p_self: float) -> float:
    """Eq. 2 of Boytsov & Kolter: Σ over the unique tokens d of D of T(q|d) P(d|D)."""
    total = 0.0
    for d, count in Counter(document).items():
        translation = p_self if d == q else (1 - p_self) * table.get(q, {}).get(d, 0.0)
        total += translation * count / len(document)
    return total


def plain_log_likelihood(
    query: list[int],
    document: list[int],
    table: Table,
    background: list[float],
    p: float,
    lam: float,
) -> float:
    """Eq. 3 of Boytsov & Kolter, in logarithms: Σ_q log((1 − λ) Σ T(q|d) P(d|D) + λ P(q|C))."""
    return sum(
        math.log((1 - lam) * plain_likelihood(q, document, table, p) + lam * background[q])
        for q in query
    )


def packed(table: Table) -> TranslationTable:
    rows = [sorted(table.get(q, {}).items()) for q in range(TOKENS)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return TranslationTable(
        offsets,
        np.array([d for row in rows for d, _ in row], np.int32),
        np.array([p for row in rows for _, p in row], np.float32),
    )


def gathered(documents: list[list[int]]) -> Gathered:
    lengths = np.array([len(each) for each in documents], np.int64)
    tokens = np.array([t for each in documents for t in each], np.int32)
    return Gathered(tokens, lengths)


@settings(max_examples=2 * settings().max_examples)
@given(TABLES, TEXTS, st.lists(TEXTS, min_size=1, max_size=5), st.floats(0, 1))
def test_likelihoods_are_equation_2(
    table: Table, query: list[int], documents: list[list[int]], p_self: float
) -> None:
    found = translation_likelihoods(
        np.array(query, np.int32), packed(table), p_self, gathered(documents)
    )
    wanted = [[plain_likelihood(q, each, table, p_self) for each in documents] for q in query]
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, np.reshape(wanted, (len(query), len(documents))), rtol=1e-5, atol=1e-7
    )


@given(TABLES, TEXTS, st.lists(TEXTS, min_size=1, max_size=5), st.floats(0.01, 1))
def test_log_odds_are_the_log_likelihood_less_one_constant_per_query(
    table: Table, query: list[int], documents: list[list[int]], lambda_: float
) -> None:
    background = [0.3, 0.2, 1e-3, 0.1, 1e-6, 0.2, 1e-9, 1e-9]
    likelihoods = translation_likelihoods(
        np.array(query, np.int32), packed(table), 0.3, gathered(documents)
    )
    prior = np.array([background[q] for q in query], np.float32)
    scores = log_odds(likelihoods, prior, lambda_).sum(0, dtype=np.float64)
    constant = sum(math.log(lambda_ * background[q]) for q in query)
    wanted = [
        plain_log_likelihood(query, each, table, background, 0.3, lambda_) - constant
        for each in documents
    ]
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-4)
    assert (scores >= 0).all()


def test_a_document_without_tokens_explains_nothing() -> None:
    found = translation_likelihoods(
        np.array([1, 2], np.int32), packed({1: {2: 0.5}}), 0.3, gathered([[], [2], []])
    )
    np.testing.assert_allclose(found, [[0, 0.35, 0], [0, 0.3, 0]])


@pytest.mark.parametrize(
    ("offsets", "sources", "probabilities", "message"),
    [
        ([0, 1, 2], [2, 0], [0.5, 0.5], "past the vocabulary"),
        ([0, 1, 2], [-1, 0], [0.5, 0.5], "past the vocabulary"),
        ([0, 0, 1], [0], [0.0], r"not in \(0, 1\]"),
        ([0, 0, 1], [0], [2.0], r"not in \(0, 1\]"),
        ([0, 0, 1], [0], [math.nan], r"not in \(0, 1\]"),
        ([0, 0, 0, 2], [1, 0], [0.5, 0.5], "do not ascend"),
        ([0, 0, 0, 2], [1, 1], [0.5, 0.5], "do not ascend"),
        ([0, 0, 1], [1], [0.5], "into itself"),
    ],
)
def test_a_wrong_table_is_refused(
    offsets: list[int], sources: list[int], probabilities: list[float], message: str
) -> None:
    table = TranslationTable(
        np.array(offsets), np.array(sources, np.int32), np.array(probabilities, np.float32)
    )
    with pytest.raises(BundleError, match=f"the ranker: .*{message}"):
        table.verify("the ranker")
