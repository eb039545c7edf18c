"""Codes become the vectors that they were made of, and score the same in any company."""

from dataclasses import replace

import numpy as np
import pytest

from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.srm.codes import (
    Codes,
    CodeStore,
    Decoder,
    SubEmbeddings,
    code_weights,
    normalised,
)
from ranklet.runtime.rankers.srm.settings import SRMSettings

TOKENS, LENGTHS = 40, (7, 0, 3, 1, 12, 0, 5)
PLAIN = SRMSettings(dimension=8, sub_embeddings=4, context="neighbours", window=0, stored="codes")
MIXINGS = {
    "attention": PLAIN,
    "cosine": replace(PLAIN, similarity="cosine"),
    "average": replace(PLAIN, mixing="average"),
    "top1": replace(PLAIN, mixing="top1"),
    "top1-cosine": replace(PLAIN, mixing="top1", similarity="cosine"),
    "single": replace(PLAIN, sub_embeddings=1),
}


def make_table(settings: SRMSettings) -> SubEmbeddings:
    rng = np.random.default_rng(0)
    shape = TOKENS, settings.sub_embeddings
    values = rng.integers(-127, 128, (*shape, settings.dimension)).astype(np.int8)
    return SubEmbeddings(values, rng.uniform(0.001, 0.01, shape).astype(np.float32))


def take_weights(settings: SRMSettings, count: int) -> np.ndarray:
    """Return weights from 0 to 1, as attention makes them."""
    rng = np.random.default_rng(1)
    weights = rng.uniform(0, 1, (count, settings.sub_embeddings))
    if settings.mixing == "top1":
        weights = np.eye(settings.sub_embeddings)[weights.argmax(1)]
    return weights.astype(np.float32)


def store_of(settings: SRMSettings) -> CodeStore:
    rng = np.random.default_rng(2)
    count = sum(LENGTHS)
    ids = rng.integers(0, TOKENS, count).astype(np.uint16)
    coded = code_weights(take_weights(settings, count), count, settings)
    offsets = np.cumsum([0, *LENGTHS]).astype(np.int64)
    return CodeStore(offsets, Codes(ids, coded), Decoder(settings, make_table(settings)))


@pytest.fixture(params=[*MIXINGS.values()], ids=[*MIXINGS])
def settings(request: pytest.FixtureRequest) -> SRMSettings:
    chosen: SRMSettings = request.param
    return chosen


def test_a_token_takes_the_bytes_that_it_needs(settings: SRMSettings) -> None:
    width = {"attention": 4, "average": 0, "top1": 1}[settings.mixing]
    expected = width if settings.sub_embeddings > 1 else 0
    assert store_of(settings).codes.weights.shape == (sum(LENGTHS), expected)
    assert settings.code_width == expected


def test_decoded_vectors_are_near_those_that_were_coded(settings: SRMSettings) -> None:
    store, table = store_of(settings), make_table(settings)
    rows, weights = table.rows(store.codes.tokens), take_weights(settings, sum(LENGTHS))
    expected = np.einsum("tk,tkd->td", weights, rows) if settings.mixes else rows.mean(1)
    expected = normalised(expected, settings)
    values, scales = store.decoder.vectors(store.codes)
    made = values * scales[:, None]
    lengths = np.linalg.norm(expected, axis=1)
    error = np.linalg.norm(made - expected, axis=1) / lengths
    assert values.dtype == np.int16
    assert error.max() < (0.01 if settings.code_width > 1 else 0.001)


def test_scores_are_those_of_the_decoded_vectors_in_16_bits(settings: SRMSettings) -> None:
    store = store_of(settings)
    plain = TokenStore(store.offsets, store.decoder.vectors(store.codes))
    drawn = np.random.default_rng(3).normal(size=(5, 8)).astype(np.float32)
    query = quantise_query(drawn, "int16")
    everything = np.arange(len(LENGTHS))
    together = store.scores(query, everything)
    assert together.tolist() == plain.scores(query, everything).tolist()
    assert (together[[1, 5]] == 0).all()
    for number in range(len(LENGTHS)):
        assert store.scores(query, np.array([number])).tolist() == [together[number]]
        similarities = store.similarities(query, number)
        assert similarities.shape == (5, LENGTHS[number])
        best = similarities.max(1, initial=-np.inf) if LENGTHS[number] else np.zeros(5)
        assert store.best(query, np.array([number]))[:, 0].tolist() == best.tolist()


def test_a_token_past_the_table_is_damage(settings: SRMSettings) -> None:
    store = store_of(settings)
    store.codes.tokens[0] = TOKENS
    query = quantise_query(np.ones((1, 8), np.float32), "int16")
    with pytest.raises(BundleError, match="the table has 40 rows"):
        store.scores(query, np.array([0]))


def test_a_sub_embedding_past_the_last_is_damage() -> None:
    store = store_of(MIXINGS["top1"])
    store.codes.weights[0] = 4
    query = quantise_query(np.ones((1, 8), np.float32), "int16")
    with pytest.raises(BundleError, match="sub-embedding 4"):
        store.scores(query, np.array([0]))


@pytest.mark.parametrize("factor", [np.nan, np.inf, 3e38])
def test_a_factor_that_makes_no_finite_vector_is_damage(
    settings: SRMSettings, factor: float
) -> None:
    store = store_of(settings)
    store.decoder.table.scales[:] = factor
    query = quantise_query(np.ones((1, 8), np.float32), "int16")
    with pytest.raises(BundleError, match="not finite"):
        store.scores(query, np.array([0]))
