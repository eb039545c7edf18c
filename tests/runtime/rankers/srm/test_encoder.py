"""A light encoder reads its table, and a graph makes vectors of the rows."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.colbert.settings import OUTPUT
from ranklet.runtime.rankers.srm.codes import SubEmbeddings
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.settings import STATIC, SRMSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SETTINGS = SRMSettings(dimension=16, sub_embeddings=2, context="neighbours")


class Means:
    """In place of a session: the mean of a token's rows."""

    provider, on_gpu, workers, by_length = "CPUExecutionProvider", False, 1, False
    outputs: tuple[str, ...] = (OUTPUT,)

    def run(self, output: str, feeds: dict[str, Any]) -> Any:
        assert output == OUTPUT
        assert feeds[STATIC].shape[:2] == feeds["input_ids"].shape
        with np.errstate(invalid="ignore"):
            return feeds[STATIC].mean(2)


def encoder_of(tokenizer: "Tokenizer", rows: int = 400, **parts: Any) -> LightEncoder:
    rng = np.random.default_rng(0)
    values = rng.integers(-127, 128, (rows, 2, 16)).astype(np.int8)
    table = SubEmbeddings(values, np.full((rows, 2), 0.01, np.float32))
    encoder = Encoder(Means(), OUTPUT, tokenizer, 16, "graph")
    return LightEncoder(SETTINGS, encoder, table, **parts)


def test_a_graph_gets_the_rows_of_the_tokens(tiny_tokenizer: "Tokenizer") -> None:
    encoder = encoder_of(tiny_tokenizer)
    ids = tiny_tokenizer.encode("red river", add_special_tokens=False).ids
    (found,) = encoder.encode(["red river"], "document").vectors
    expected = (encoder.table.values[ids] * np.float32(0.01)).mean(1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert encoder.provider == ""  # because no network runs


def test_the_digest_has_the_graph_the_table_and_the_settings(tiny_tokenizer: "Tokenizer") -> None:
    digests = {encoder_of(tiny_tokenizer, digest=each).digest for each in ("table", "other")}
    assert len(digests) == 2
    assert all(each.startswith("graph ") and "sub_embeddings=2" in each for each in digests)


def test_idf_multiplies_the_factors_of_a_query(tiny_tokenizer: "Tokenizer") -> None:
    idf = np.linspace(0.5, 2, tiny_tokenizer.get_vocab_size()).astype(np.float32)
    plain, _ = encoder_of(tiny_tokenizer).encode_query("red river")
    encoder = encoder_of(tiny_tokenizer, idf=idf)
    weighted, _ = encoder.encode_query("red river")
    ids = tiny_tokenizer.encode("red river", add_special_tokens=False).ids
    np.testing.assert_array_equal(weighted.values, plain.values)
    np.testing.assert_array_equal(weighted.scales, plain.scales * idf[ids])
    np.testing.assert_array_equal(encoder.token_weights("red river"), idf[ids])
    with pytest.raises(BundleError, match=r"idf\.npy has 3 tokens"):
        encoder_of(tiny_tokenizer, idf=idf[:3]).encode_query("red river")


def test_damage_is_said(tiny_tokenizer: "Tokenizer") -> None:
    with pytest.raises(BundleError, match="the table has 5 rows"):
        encoder_of(tiny_tokenizer, rows=5).encode_query("red")
    damaged = encoder_of(tiny_tokenizer)
    damaged.table.scales[:] = 3e38
    with pytest.raises(BundleError, match="not finite"):
        damaged.encode_query("red")
