"""Vectors of documents as they are stored: in 32 bits, in 16, or in 8 with a factor per vector.

numpy multiplies only float32 fast, and it converts float16 one number at a time. So blocks that
stay in the cache become float32 and are multiplied there. Of 8 bits less is read than of 32, which
makes up for the conversion.

The exact search takes the inner product with every vector of a mapped matrix.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask, check_mask
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.dense.maxsim import quantise
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.block_array import fetch_rows, fetch_whole

# By name: the type of a stored number.
FORMS: dict[str, Any] = {"float32": np.float32, "float16": np.float16, "int8": np.int8}
WHOLE = "float32"  # the form that loses nothing
SIMILARITIES = ("dot", "cosine")  # of two vectors

BLOCK = 16_384  # rows of float32 per product, 25 MB at 384 dimensions, to bound memory
CONVERTED = 512  # rows that are converted at a time, 0.8 MB of float32 at 384 dimensions
FEW = 1024  # rows that are copied at a time

LARGEST_HALF = float(np.finfo(np.float16).max)
# A float16 has 5 bits of exponent and 10 of fraction. Moved up by 13 bits, they are in the places
# of a float32's last 5 bits of exponent and first 10 of fraction. The exponents are counted from
# 15 and from 127, so the number is then too small by 2 to the power of 112.
_MOVED = 13
_KEPT = np.int32(-0x70002000)  # the sign and these 15 bits, 0x8fffe000
_TOO_SMALL_BY = np.float32(2.0**112)

GATHERED = 4  # copying a row and multiplying it takes as long as multiplying four in place


class StoredVectors:
    """The vectors of documents, in memory or memory-mapped. Vector d is ``scales[d] * values[d]``.

    Args:
        values: (documents, dimension) float32, float16 or int8.
        scales: > 0, (documents,) float32; None for 1.
    """

    def __init__(self, values: NDArray[Any], scales: NDArray[np.float32] | None = None) -> None:
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, vectors: NDArray[np.float32], form: str) -> "StoredVectors":
        """Return vectors in a form of `FORMS`.

        In 16 bits a number outside of ±65,504 becomes the nearest of these. In 8 bits the largest
        number of a vector becomes 127. Rows do not depend on one another.

        Args:
            vectors: (documents, dimension) float32.
            form: the name of the form.
        """
        if form == WHOLE:
            return cls(vectors)
        values = np.empty(vectors.shape, FORMS[form])
        scales = np.empty(len(vectors), np.float32) if form == "int8" else None
        for begin in range(0, len(vectors), BLOCK):
            own = slice(begin, begin + BLOCK)
            if scales is None:
                values[own] = vectors[own].clip(-LARGEST_HALF, LARGEST_HALF)
            else:
                values[own], scales[own] = quantise(vectors[own], np.int8)
        return cls(values, scales)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of documents, and the dimension of their vectors."""
        count, dimension = self.values.shape
        return count, dimension

    @property
    def nbytes(self) -> int:
        """How many bytes the vectors take, with their factors."""
        return self.values.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def floats(self, which: slice | NDArray[np.integer]) -> NDArray[np.float32]:
        """Return some of the vectors, (documents, dimension) float32."""
        values = as_floats(self.values[which])
        return values if self.scales is None else values * self.scales[which, None]

    def fetch_vectors(self, numbers: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the vectors of some documents, which are fetched at once if they lie far away."""
        fetch_rows(numbers, plain=self._arrays)
        return self.floats(numbers)

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """Yield each vector, (dimension,) float32."""
        for begin in range(0, len(self), CONVERTED):
            yield from self.floats(slice(begin, begin + CONVERTED))

    def products(self, query: NDArray[np.float32], mask: Mask | None = None) -> NDArray[np.float32]:
        """Return the inner product with every vector, (documents,) float32.

        With a mask, blocks in which it allows no document are not read and have the product 0.

        Args:
            query: (dimension,) float32.
            mask: whether the product with each document is needed, (documents,) bool; None for all.
        """
        count, dimension = self.shape
        fetch_whole(*self._arrays)  # at once, not block by block
        products = np.zeros(count, np.float32)
        is_whole = self.values.dtype == np.float32
        step = BLOCK if is_whole else CONVERTED
        converted = np.empty((0 if is_whole else min(step, count), dimension), np.float32)
        for begin in range(0, count, step):
            own = slice(begin, begin + step)
            if mask is not None and not mask[own].any():
                continue
            block = self.values[own]
            products[own] = as_floats(block, converted[: len(block)]) @ query
        return self._scaled(products, slice(None))

    def multiply_vectors(
        self, numbers: NDArray[np.integer], query: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the inner product with some vectors, (numbers,) float32.

        A product is the same to the bit whichever others are computed with it.

        Args:
            numbers: the documents' numbers, (numbers,).
            query: (dimension,) float32.
        """
        fetch_rows(numbers, plain=self._arrays)
        products = np.empty(len(numbers), np.float32)
        for begin in range(0, len(numbers), FEW):
            rows = as_floats(self.values[numbers[begin : begin + FEW]])
            # vecdot sums each row alike, however many there are; a matrix product does not.
            np.vecdot(rows, query, out=products[begin : begin + FEW])
        return self._scaled(products, numbers)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        return [self.values] if self.scales is None else [self.values, self.scales]

    def _scaled(
        self, products: NDArray[np.float32], which: slice | NDArray[np.integer]
    ) -> NDArray[np.float32]:
        if self.scales is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # the pipeline refuses what results
                products *= self.scales[which]
        return products

    def verify(self, name: str) -> None:
        """Check every number.

        Raises:
            BundleError: a number or a factor is not allowed; the message begins with `name`.
        """
        if self.scales is not None and not (np.isfinite(self.scales) & (self.scales > 0)).all():
            raise BundleError(f"{name}: a vector's factor is not finite and above 0")
        if not np.isfinite(self.values).all():
            raise BundleError(f"{name}: a document's vector is not finite")


def as_floats(values: NDArray[Any], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return numbers as float32; an array that is float32 already is returned itself.

    The bits of float16 are moved to their places in float32, four times as fast as numpy converts
    them. Subnormal numbers are right, too. Infinity and NaN, which no bundle may hold, become
    numbers.

    Args:
        values: (rows, columns) float32, float16 or int8.
        out: where the numbers are written unless they are float32; None for a new array.

    >>> as_floats(np.array([[-1.5, 6e-8]], np.float16)).tolist()
    [[-1.5, 5.960464477539063e-08]]
    """
    if values.dtype == np.float32:
        return values
    if out is None:
        out = np.empty(values.shape, np.float32)
    if values.dtype != np.float16:
        np.copyto(out, values)
        return out
    bits = out.view(np.int32)
    np.copyto(bits, values.view(np.int16))  # the sign fills the upper half
    np.left_shift(bits, _MOVED, out=bits)
    np.bitwise_and(bits, _KEPT, out=bits)
    np.multiply(out, _TOO_SMALL_BY, out=out)
    return out


class ExactIndex:
    """An index that compares a query with all vectors.

    Args:
        vectors: the documents' vectors, in any form.
    """

    def __init__(self, vectors: StoredVectors) -> None:
        self.vectors = vectors

    def search(self, query: NDArray[np.float32], k: int, allowed: Mask | None = None) -> Scored:
        """Return the k documents with the largest inner product, best first, ties by number.

        If a mask allows only few documents, only their vectors are read. Their scores are then
        sums in another order, which may differ in the last bit.

        Args:
            query: (dimension,) float32.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """
        mask = check_mask(allowed, len(self.vectors))
        if k <= 0 or not len(self.vectors):
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        if mask is None:
            scores = self.vectors.products(query)
            best = top_k(scores, k)
            return best.astype(np.uint32), scores[best]
        numbers = np.flatnonzero(mask)
        if len(numbers) * GATHERED < len(self.vectors):
            scores = self.vectors.multiply_vectors(numbers, query)
        else:
            scores = self.vectors.products(query, mask)[numbers]
        best = top_k(scores, k)
        return numbers[best].astype(np.uint32), scores[best]
