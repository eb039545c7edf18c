"""A text's vector is the mean of its tokens' vectors."""

from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from ranklet.runtime.dense.pooling import token_shares
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.token_table import TokenTable

VECTORS = np.array([[0, 0], [1, 0], [0, 4], [3, 4]], np.float32)


@pytest.fixture
def words() -> Tokenizer:
    made = Tokenizer(WordLevel({"?": 0, "a": 1, "b": 2, "c": 3, "d": 4}, unk_token="?"))  # noqa: S106
    made.pre_tokenizer = Whitespace()
    return made


def test_the_vector_is_the_mean_and_may_have_length_1(words: Tokenizer) -> None:
    plain = TokenTable(VECTORS, words, normalise=False).encode(["a b", "", "a b c c c"], 3, 0)
    means = np.array([[0.5, 2], [0, 0], [4 / 3, 8 / 3]])
    np.testing.assert_allclose(plain.vectors, means, rtol=1e-5)
    assert plain.cut == [2]
    unit = TokenTable(VECTORS, words, normalise=True).encode(["c", "?", ""], 3, 0)
    np.testing.assert_allclose(unit.vectors, np.array([[0.6, 0.8], [0, 0], [0, 0]]), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_fewer_bits_give_nearly_the_same_vector(dtype: Any, words: Tokenizer) -> None:
    scales = np.array([1, 0.5, 2, 1], np.float32) if dtype == np.int8 else None
    stored = VECTORS if scales is None else VECTORS / scales[:, None]
    table = TokenTable(stored.astype(dtype), words, normalise=False, scales=scales)
    exact = TokenTable(VECTORS, words, normalise=False)
    texts = ["a b c", "b", "c c a"]
    encoded = table.encode(texts, 9, 0).vectors
    assert encoded.dtype == np.float32
    np.testing.assert_allclose(encoded, exact.encode(texts, 9, 0).vectors, rtol=1e-3)


def test_a_token_without_a_row_is_an_error(words: Tokenizer) -> None:
    with pytest.raises(BundleError, match="has 4 rows, but the tokenizer has the token 4"):
        TokenTable(VECTORS, words, normalise=False).encode(["a d"], 9, 0)


def test_a_check_finds_every_fault(words: Tokenizer) -> None:
    whole = np.concatenate([VECTORS, VECTORS[:1]])
    TokenTable(whole, words, normalise=False).verify("static")
    with pytest.raises(BundleError, match=r"static: the table has 4 rows, but .* has 5 tokens"):
        TokenTable(VECTORS, words, normalise=False).verify("static")
    with pytest.raises(BundleError, match="static: a token's vector is not finite"):
        TokenTable(whole * np.float32(np.nan), words, normalise=False).verify("static")
    scales = np.array([1, 1, 1, 1, np.inf], np.float32)
    with pytest.raises(BundleError, match="static: a token's vector is not finite"):
        TokenTable(whole, words, normalise=False, scales=scales).verify("static")


def test_states_are_the_vectors_whose_mean_is_the_texts_vector(words: Tokenizer) -> None:
    table = TokenTable(VECTORS, words, normalise=True)
    tokens, states = table.states("a b c c", 3, 0)
    assert [(token.spelling, token.begin, token.end) for token in tokens] == [
        ("a", 0, 1), ("b", 2, 3), ("c", 4, 5),
    ]  # fmt: skip
    shares = token_shares(states, "mean", 2, normalise=True)
    np.testing.assert_allclose(shares.sum(0), table.encode(["a b c c"], 3, 0).vectors[0], rtol=1e-5)
    assert table.states("", 3, 0)[1].shape == (0, 2)
    with pytest.raises(BundleError, match="has 4 rows, but the tokenizer has the token 4"):
        table.states("a d", 9, 0)
