"""The static part has one factor per sub-embedding, and the matrices that serving needs."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranklet.export.rankers.srm.static_part import static_bytes, static_part
from ranklet.runtime.rankers.srm.modules import matrix_shapes
from ranklet.runtime.rankers.srm.settings import SRMSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.srm.network import LightNetwork

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NEAR = SRMSettings(dimension=16, sub_embeddings=3, heads=2, context="neighbours")


def checkpoint_of(settings: SRMSettings, tokenizer: "Tokenizer") -> Checkpoint:
    with seeded(0):
        network = LightNetwork(settings, None, 50, [0])
    weights = {name: values.numpy() for name, values in network.state_dict().items()}
    weights["light.table.weight"][:, :16] *= 100  # the first sub-embedding is much longer
    return Checkpoint("srm", settings, tokenizer=tokenizer, weights=weights)


def test_every_sub_embedding_is_as_precise_as_8_bits_allow(tiny_tokenizer: "Tokenizer") -> None:
    checkpoint = checkpoint_of(NEAR, tiny_tokenizer)
    table = static_part(checkpoint, tiny_tokenizer).table
    expected = checkpoint.weights["light.table.weight"].reshape(50, 3, 16)
    assert table.values.shape == (50, 3, 16)
    error = np.abs(table.rows(np.arange(50)) - expected)
    assert (error <= np.abs(expected).max(2, keepdims=True) / 127 * 0.51).all()


@pytest.mark.parametrize(
    ("settings", "matrices"),
    [
        (NEAR, True),
        (replace(NEAR, documents="oracle"), True),
        (replace(NEAR, context="oracle"), False),
        (replace(NEAR, mixing="average", window=0), False),
    ],
)
def test_matrices_are_those_that_serving_needs(
    settings: SRMSettings, matrices: bool, tiny_tokenizer: "Tokenizer"
) -> None:
    static = static_part(checkpoint_of(settings, tiny_tokenizer), tiny_tokenizer)
    assert {*static.matrices} == ({*matrix_shapes(settings)} if matrices else set())
    numbers = sum(each.size for each in static.matrices.values())
    assert static_bytes(static) == 50 * 3 * (16 + 4) + 4 * numbers
