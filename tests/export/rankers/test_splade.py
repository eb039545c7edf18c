"""A SPLADE's one encoder is proven, and gives PyTorch's vectors."""

from pathlib import Path

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.models import vectors_alone

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.splade import SPLADE
from ranklet.training.rankers.splade import training as splade


def opened(path: Path, name: str) -> SPLADE:
    ranker = open_ranker(BundleFiles(path, device="cpu"), name)
    assert isinstance(ranker, SPLADE)
    return ranker


@pytest.mark.slow
def test_vectors_are_those_of_pytorch(tiny: TinyRankers) -> None:
    checkpoint = tiny.checkpoints("splade")["network"]
    ranker, texts = opened(tiny.indexed("splade"), "network"), ["red apple", "the old river", ""]
    # The variant that serves has 8 bits.
    expected = vectors_alone(splade.load(checkpoint), checkpoint.tokenizer, texts)
    np.testing.assert_allclose(ranker.encoders.encode_whole(texts).vectors, expected, atol=0.1)
    queries, _ = ranker.encoders.encode_queries(texts)
    for query, row in zip(queries, expected, strict=True):
        whole = np.zeros_like(row)
        whole[query.terms] = query.weights
        np.testing.assert_allclose(whole, row, atol=0.1)


def test_one_encoder_serves_queries_and_documents(tiny: TinyRankers) -> None:
    files = BundleFiles(tiny.exported("splade")).manifest.files
    models = [Path(name) for name in files if Path(name).suffix == ".onnx"]
    assert "model.onnx" in {model.name for model in models}
    assert {model.parent.as_posix() for model in models} == {
        f"rankers/{name}" for name in ("network", "idf", "learned")
    }
