"""What stored forms lose is measured on judged queries."""

import numpy as np
import pytest
from benchmarks.dense.dense_stored import CODES, Found, Texts, loss, quality, searched

from ranklet.training.data.splits import JudgedQuery


def texts() -> Texts:
    """Return 40 documents, each of which is relevant for a query near it."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(40, 64)).astype(np.float32)
    queries = (documents + 0.5 * rng.normal(size=documents.shape)).astype(np.float32)
    ids = [f"d{at}" for at in range(40)]
    judged = [JudgedQuery(f"q{at}", "any", {name: 1}) for at, name in enumerate(ids)]
    return Texts(judged, ids, queries, documents)


def test_every_form_finds_its_documents_and_its_size_is_known() -> None:
    found = searched(texts())
    assert {name: each.size for name, each in found.items()} == {
        "float32": 256, "float16": 128, "int8": 68, CODES: 76,
    }  # fmt: skip
    for each in found.values():
        assert each.values["nDCG@10"].mean() > 0.99
        assert all(len(own) == 10 for own in each.numbers)
    text = quality(found)
    assert text.count("\n") == 1 + len(found)
    assert "| int8 | 68 |" in text


def test_a_loss_is_a_share_of_what_32_bits_reach() -> None:
    def of(values: list[float]) -> Found:
        return Found(1, [], {"nDCG@10": np.array(values)})

    found = {"float32": of([1, 1, 0.5, 0.5]), "int8": of([0.5, 1, 0.5, 0.7])}
    lost, margin = loss(found, "int8")
    assert lost == pytest.approx(10)
    assert margin > 0
    assert loss(found, "float32") == (0, 0)
