"""Vectors in their stored forms, against numpy's own conversions."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.stored import (
    BLOCK,
    CONVERTED,
    FORMS,
    ExactIndex,
    StoredVectors,
    as_floats,
)
from ranklet.runtime.ground.errors import BundleError

RNG = np.random.default_rng(0)
# Of a number of a vector of length 1, the largest error of each form.
ERRORS = {"float32": 0.0, "float16": 2.0**-11, "int8": 0.5 / 127}


def vectors(count: int, dimension: int = 48) -> NDArray[np.float32]:
    """Return vectors of length 1, (count, dimension) float32."""
    rows = RNG.normal(size=(count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_every_finite_half_becomes_what_numpy_makes_of_it() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)].reshape(2, -1)
    expected = halves.astype(np.float32)
    assert as_floats(halves).tobytes() == expected.tobytes()  # the sign of 0 included
    out = np.empty(expected.shape, np.float32)
    assert as_floats(halves, out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_keeps_vectors_as_well_as_its_bits_allow(form: str) -> None:
    rows = vectors(BLOCK + 3)
    stored = StoredVectors.of(rows, form)
    assert stored.values.dtype == FORMS[form]
    assert stored.shape == rows.shape
    size = stored.values.itemsize * rows.shape[1] + (4 if form == "int8" else 0)
    assert stored.nbytes == size * len(rows)
    largest = np.abs(rows).max(1, keepdims=True)
    assert (np.abs(stored.floats(slice(None)) - rows) <= largest * ERRORS[form] * 1.001).all()
    some = np.array([5, BLOCK + 2, 5])
    np.testing.assert_array_equal(stored.floats(some), stored.floats(slice(None))[some])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, CONVERTED, CONVERTED + 1, 3 * CONVERTED - 1])
def test_products_are_those_of_the_stored_vectors(count: int, form: str) -> None:
    stored, query = StoredVectors.of(vectors(count), form), vectors(1)[0]
    expected = stored.floats(slice(None)).astype(np.float64) @ query
    np.testing.assert_allclose(stored.products(query), expected, atol=1e-6)
    np.testing.assert_allclose(
        stored.multiply_vectors(np.arange(count), query), expected, atol=1e-6
    )


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 1.0])
def test_searches_under_a_mask_rank_by_the_stored_form(share: float, form: str) -> None:
    rows = vectors(3_000)
    stored = StoredVectors.of(rows, form)
    decoded = stored.floats(slice(None))
    codes = BinaryIndex(binary_codes(stored), stored)
    codes.verify("dense")
    for query in vectors(5):
        allowed = RNG.random(len(rows)) < share
        some = np.flatnonzero(allowed)
        wanted = some[np.argsort(-(decoded[some].astype(np.float64) @ query), kind="stable")][:10]
        numbers, scores = ExactIndex(stored).search(query, 10, allowed)
        assert numbers.tolist() == wanted.tolist()
        np.testing.assert_allclose(scores, decoded[numbers] @ query, atol=1e-6)
        numbers, scores = codes.search(query, 10, allowed)
        assert allowed[numbers].all()
        assert len(numbers) == min(10, len(some))
        np.testing.assert_allclose(scores, decoded[numbers] @ query, atol=1e-6)


@pytest.mark.parametrize(
    ("form", "value"), [("float32", np.nan), ("float32", np.inf), ("float16", -np.inf)]
)
def test_a_number_that_is_not_finite_is_found(form: str, value: float) -> None:
    stored = StoredVectors.of(vectors(9), form)
    stored.verify("dense")
    stored.values[8, 3] = value
    with pytest.raises(BundleError, match="dense: a document's vector is not finite"):
        stored.verify("dense")


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_a_factor_that_is_not_allowed_is_found(value: float) -> None:
    stored = StoredVectors.of(vectors(9), "int8")
    assert stored.scales is not None
    stored.scales[8] = value
    with pytest.raises(BundleError, match="dense: a vector's factor is not finite and above 0"):
        stored.verify("dense")


def test_exact_search_is_the_inner_product_best_first_ties_by_number() -> None:
    vectors = np.array([[1, 0], [2, 0], [2, 0], [0, 5]], np.float32)
    numbers, scores = ExactIndex(StoredVectors(vectors)).search(np.array([1, 0], np.float32), 3)
    assert numbers.tolist() == [1, 2, 0]
    assert scores.tolist() == [2, 2, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("share", [0, 0.002, 0.05, 0.2, 0.3, 0.9, 1])
def test_a_mask_leaves_the_ranking_of_the_allowed_documents(share: float, dtype: type) -> None:
    rng = np.random.default_rng(0)
    # Whole numbers, whose products are exact in any order, and many of which tie.
    vectors: NDArray[Any] = rng.integers(-3, 4, size=(1500, 4)).astype(dtype)
    index = ExactIndex(StoredVectors(vectors))
    for k in (0, 1, 10, 1500, 9999):
        query = rng.integers(-3, 4, size=4).astype(np.float32)
        allowed = rng.random(1500) < share
        numbers, scores = index.search(query, 1500)
        kept = allowed[numbers]
        found = index.search(query, k, allowed)
        assert found[0].tolist() == numbers[kept][:k].tolist()
        assert found[1].tolist() == scores[kept][:k].tolist()
        assert [each.dtype for each in found] == [np.uint32, np.float32]


def test_blocks_without_an_allowed_document_are_not_read() -> None:
    read: list[object] = []

    class Guarded(np.ndarray[Any, np.dtype[Any]]):
        def __getitem__(self, key: Any) -> Any:
            read.append(key)
            return super().__getitem__(key)

    vectors = np.ones((2 * BLOCK, 1), np.float32).view(Guarded)
    allowed = np.arange(2 * BLOCK) >= BLOCK
    found, _ = ExactIndex(StoredVectors(vectors)).search(np.ones(1, np.float32), 3, allowed)
    assert found.tolist() == [BLOCK, BLOCK + 1, BLOCK + 2]
    assert read == [slice(BLOCK, 2 * BLOCK)]
