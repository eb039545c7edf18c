"""Each stored form is measured against vectors in 32 bits."""

import numpy as np
import pytest

from ranklet.export.rankers.colbert.stored_forms import bytes_of, float_scores, form_reports
from ranklet.runtime.dense.maxsim import TokenStore


def texts(rng: np.random.Generator, lengths: tuple[int, ...]) -> list[np.ndarray]:
    made = [rng.normal(size=(length, 32)).astype(np.float32) for length in lengths]
    return [each / np.linalg.norm(each, axis=1, keepdims=True) for each in made]


def test_scores_in_32_bits_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    queries, documents = texts(rng, (3, 0, 2)), texts(rng, (4, 0, 1))
    scores = float_scores(queries, documents)
    assert scores.dtype == np.float32
    for i, query in enumerate(queries):
        for j, document in enumerate(documents):
            best = [max((float(q @ d) for d in document), default=0.0) for q in query]
            assert scores[i, j] == pytest.approx(sum(best), abs=1e-5)


def test_finer_forms_lose_less_and_coarser_ones_take_less() -> None:
    rng = np.random.default_rng(1)
    queries, documents = texts(rng, (5,) * 8), texts(rng, (12,) * 30)
    groups = [[[at, at + 1] for at in range(0, 12, 2)]] * 30
    relevant = [[at] for at in range(8)]
    reports = {each.variant: each for each in form_reports(queries, documents, groups, relevant)}
    assert list(reports) == ["stored int8", "stored int8-pooled", "stored int16"]
    eight, half, sixteen = reports.values()
    assert sixteen.max_error < 0.01 < half.max_error
    assert sixteen.max_error < eight.max_error < 0.1
    factor, offset = 4, 8 * 31 / 30
    assert eight.bytes == round(12 * (32 + factor) + offset)
    assert half.bytes == round(6 * (32 + factor) + offset)
    assert sixteen.bytes == round(12 * (2 * 32 + factor) + offset)


def test_the_size_of_a_store_counts_values_factors_and_offsets() -> None:
    store = TokenStore.of([np.ones((3, 8), np.float32)], "int16", 8)
    assert bytes_of(store) == 3 * 8 * 2 + 3 * 4 + 2 * 8
