"""Documents as codes score nearly as their vectors do, and take fewer bytes."""

import numpy as np
import pytest
from tests.kinds import TinyRankers

from ranklet.runtime.rankers.colbert.tokens import Row
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.rankers.srm.oracle import TokenVectors

stored_codes = pytest.importorskip("benchmarks.late_interaction.stored_codes")
light = pytest.importorskip("benchmarks.built.light")
token_vectors = pytest.importorskip("benchmarks.built.token_vectors")

DOCUMENTS = 6


def texts(lengths: list[int], dimension: int) -> TokenVectors:
    rng = np.random.default_rng(len(lengths))
    rows = [
        Row(rng.integers(5, 60, size).tolist(), size, size, list(range(size))) for size in lengths
    ]
    vectors = rng.normal(size=(sum(lengths), dimension)).astype(np.float16)
    return TokenVectors(rows, vectors)


@pytest.mark.parametrize("changes", [{"window": 0}, {"window": 0, "sub_embeddings": 1}])
def test_every_form_ranks_the_same_candidates(changes: dict[str, int], tiny: TinyRankers) -> None:
    checkpoint = tiny.checkpoint("srm", **changes)
    dimension = checkpoint.settings.dimension
    queries = [JudgedQuery("1", "", {"d1": 1}), JudgedQuery("2", "", {"d5": 1})]
    candidates = [np.array([4, 1, 3]), np.array([5, 0])]
    ranked = token_vectors.Ranked(
        queries,
        [f"d{number}" for number in range(DOCUMENTS)],
        [""] * DOCUMENTS,
        candidates,
        [np.zeros(len(own), np.float32) for own in candidates],
    )
    judged = light.Judged(ranked, texts([3, 4], dimension), texts([9, 12, 7, 8, 30, 5], dimension))
    values, sizes = stored_codes.forms(checkpoint, judged)
    assert set(values) == set(sizes) == set(stored_codes.FORMS)
    for measure in stored_codes.MEASURES:
        assert all(len(own[measure]) == len(queries) for own in values.values())
        reference = values[stored_codes.REFERENCE][measure]
        np.testing.assert_array_equal(values[stored_codes.CODES][measure], reference)
    assert sizes[stored_codes.CODES] < sizes["int8-pooled"] < sizes["int8"] < sizes["int16"]
