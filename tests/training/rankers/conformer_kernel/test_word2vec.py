"""Word vectors that a training may begin with."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.kinds import tiny_options

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

OPTIONS = tiny_options("conformer_kernel", epochs=1)


def train(collection: Collection, architecture: str = "ndrm3", **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    settings = ConformerKernelSettings(architecture=architecture)
    options = replace(OPTIONS, settings=settings, **changes)
    return conformer_kernel.train(collection, queries, dev, options)


def test_word2vec_vectors_are_in_next_to_out(
    tiny_collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "gensim.models", None)
        with pytest.raises(InputError, match=r"ranklet\[word2vec\]"):
            train(tiny_collection, vectors="word2vec")
    pytest.importorskip("gensim")
    from ranklet.training.rankers.conformer_kernel.word2vec import word_vectors

    rng = np.random.default_rng(0)
    pairs = [np.array(rng.permutation([[2, 3], [4, 5]][at % 2] * 4)) for at in range(400)]
    found = word_vectors(pairs, 8, 12, seed=1)
    assert found.shape == (8, 12)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, word_vectors(pairs, 8, 12, seed=1))
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert (unit @ unit.T)[2, 3] > max((unit @ unit.T)[2, 4:6]) + 0.3
    for half in (slice(6), slice(6, 12)):
        assert found[2:6, half].std() == pytest.approx(1, rel=1e-4)
    checkpoint = train(tiny_collection, vectors="word2vec")
    assert checkpoint.training["options"]["vectors"] == "word2vec"
