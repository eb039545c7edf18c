"""Light vectors need a network only where the settings say so."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranklet.runtime.errors import BundleError
from ranklet.runtime.rankers.srm.codes import SubEmbeddings
from ranklet.runtime.rankers.srm.encoder import LightEncoder, StaticVectors
from ranklet.runtime.rankers.srm.modules import matrix_shapes
from ranklet.runtime.rankers.srm.settings import SRMSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def static_of(settings: SRMSettings, tokenizer: "Tokenizer", rows: int = 400) -> StaticVectors:
    rng = np.random.default_rng(0)
    values = rng.integers(-127, 128, (rows, settings.sub_embeddings, settings.dimension))
    table = SubEmbeddings(values.astype(np.int8), np.full(values.shape[:2], 0.01, np.float32))
    matrices = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in matrix_shapes(settings).items()
    }
    return StaticVectors(settings, tokenizer, table, matrices)


ORACLE = SRMSettings(
    dimension=16, sub_embeddings=2, heads=2, context="neighbours", documents="oracle"
)
STATIC = SRMSettings(dimension=16, sub_embeddings=2, heads=2, context="neighbours")


def test_the_network_is_opened_once_and_only_for_documents(tiny_tokenizer: "Tokenizer") -> None:
    opened = []

    class Network:
        def run(self, rows: list[Any], role: str) -> list[Any]:
            assert role == "document"
            return [np.ones((len(row.kept), 16), np.float32) for row in rows]

    def open_network() -> Any:
        sleep(0.05)
        opened.append(Network())
        return opened[-1]

    encoder = LightEncoder(ORACLE, tiny_tokenizer, static_of(ORACLE, tiny_tokenizer), open_network)
    encoder.encode_query("red river")
    assert encoder.provider == ""
    assert opened == []
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(encoder.encode_documents, [["red"]] * 8))
    assert len(opened) == 1


def test_a_text_has_the_same_vectors_alone_and_among_others(tiny_tokenizer: "Tokenizer") -> None:
    encoder = LightEncoder(STATIC, tiny_tokenizer, static_of(STATIC, tiny_tokenizer))
    texts = ["red river", "", "the old old apple is here", "gnorp"]
    together = encoder.encode(texts, "document").vectors
    for text, vectors in zip(texts, together, strict=True):
        (alone,) = encoder.encode([text], "document").vectors
        np.testing.assert_array_equal(alone, vectors)
    assert [each.shape[1] for each in together] == [16] * 4


def test_idf_multiplies_the_factors_of_a_query(tiny_tokenizer: "Tokenizer") -> None:
    static = static_of(STATIC, tiny_tokenizer)
    idf = np.linspace(0.5, 2, tiny_tokenizer.get_vocab_size()).astype(np.float32)
    plain, _ = LightEncoder(STATIC, tiny_tokenizer, static).encode_query("red river")
    encoder = LightEncoder(STATIC, tiny_tokenizer, static, idf=idf)
    weighted, _ = encoder.encode_query("red river")
    ids = tiny_tokenizer.encode("red river", add_special_tokens=False).ids
    np.testing.assert_array_equal(weighted.values, plain.values)
    np.testing.assert_array_equal(weighted.scales, plain.scales * idf[ids])
    np.testing.assert_array_equal(encoder.token_weights("red river"), idf[ids])
    short = LightEncoder(STATIC, tiny_tokenizer, static, idf=idf[:3])
    with pytest.raises(BundleError, match=r"idf\.npy has 3 tokens"):
        short.encode_query("red river")


def test_what_is_missing_or_damaged_is_said(tiny_tokenizer: "Tokenizer") -> None:
    with pytest.raises(BundleError, match="no table of static vectors"):
        LightEncoder(STATIC, tiny_tokenizer).encode_query("red")
    with pytest.raises(BundleError, match="no network"):
        LightEncoder(ORACLE, tiny_tokenizer).encode_documents(["red"])
    few = static_of(STATIC, tiny_tokenizer, rows=5)
    with pytest.raises(BundleError, match="the table has 5 rows"):
        LightEncoder(STATIC, tiny_tokenizer, few).encode_query("red")
    damaged = static_of(STATIC, tiny_tokenizer)
    damaged.table.scales[:] = 3e38
    with pytest.raises(BundleError, match="not finite"):
        LightEncoder(STATIC, tiny_tokenizer, damaged).encode_query("red")
