"""Build an impact index of learned sparse vectors and store impacts in fewer bits."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.ordering import order_of_numbers
from ranklet.corpus.indexing.packer import packed, release
from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.impact_index import (
    IMPACT_TYPES,
    ImpactIndex,
    Impacts,
    as_stored,
    largest_impacts,
)
from ranklet.runtime.options import check_one_of

_CODES = 255  # the codes of uint8 above 0
_AT_ONCE = 1 << 20  # impacts that are converted at a time


class StoredImpacts(NamedTuple):
    """Impacts in their stored form, where impact ≈ value · scale."""

    values: Impacts  # (n,) float32, float16 or uint8
    scale: float  # 1 for all types but uint8

    def restored(self) -> NDArray[np.float32]:
        """Return the impacts that serving adds up, (n,) float32."""
        return self.values.astype(np.float32) * np.float32(self.scale)


def store_impacts(impacts: NDArray[np.floating], dtype: str) -> StoredImpacts:
    """Return impacts as one of `IMPACT_TYPES`.

    uint8 has one scale for all impacts, so that the largest is 255. Impacts too small for the type
    become 0.

    Args:
        impacts: finite and ≥ 0, (n,) floating.
        dtype: float32, float16 or uint8.

    Raises:
        InputError: an impact is negative, NaN or too large for the type.

    >>> stored = store_impacts(np.array([0.001, 0.25, 1.0]), "uint8")
    >>> stored.values.tolist(), [f"{value:.3f}" for value in stored.restored()]
    ([0, 64, 255], ['0.000', '0.251', '1.000'])
    """
    check_one_of("dtype", dtype, tuple(IMPACT_TYPES))
    exact = np.asarray(impacts, np.float32)
    if not (exact >= 0).all():
        raise InputError("an impact is negative or NaN; an index holds only impacts above 0")
    largest = float(exact.max(initial=0))
    if largest > float(np.finfo(np.float16 if dtype == "float16" else np.float32).max):
        raise InputError(f"an impact is {largest:g}, which is too large for {dtype}")
    if dtype != "uint8":
        return StoredImpacts(exact.astype(IMPACT_TYPES[dtype]), 1.0)
    scale = _scale(largest)
    return StoredImpacts(np.rint(exact / scale).clip(0, _CODES).astype(np.uint8), float(scale))


def _scale(largest: float) -> np.float32:
    """Return the scale of uint8, with which the largest impact is 255."""
    # Rounded to float32, because a bundle stores the scale in float32.
    return np.float32(largest / _CODES if largest else 1)


def in_fewer_bits(index: ImpactIndex, dtype: str) -> ImpactIndex:
    """Return an index with impacts of another type of `IMPACT_TYPES`, in a temporary file.

    It has the same postings, because an impact that is too small for the type becomes the least
    that is above 0.

    Args:
        index: an index whose impacts are float32.
        dtype: float32, float16 or uint8.
    """
    check_one_of("dtype", dtype, tuple(IMPACT_TYPES))
    if dtype == "float32":
        return index
    kind = np.dtype(IMPACT_TYPES[dtype])
    scale = float(_scale(float(index.largest.max(initial=0)))) if dtype == "uint8" else 1.0

    def values() -> Iterator[NDArray[Any]]:
        for begin in range(0, len(index.impacts), _AT_ONCE):
            part = index.impacts[begin : begin + _AT_ONCE]
            yield as_stored(part.astype(np.float32, copy=False), kind, scale).astype(kind)
            release(part)

    largest = as_stored(index.largest, kind, scale) * np.float32(scale)
    stored = packed(values(), kind)
    return ImpactIndex(index.offsets, index.documents, stored, largest, index.size, scale)


def storage_loss(impacts: NDArray[np.floating], dtype: str) -> float:
    """Return Σ |impact − stored| / Σ impact, the relative loss of a storage type.

    >>> storage_loss(np.array([1.0, 0.5]), "float16")
    0.0
    """
    exact = np.asarray(impacts, np.float64)
    lost = np.abs(exact - store_impacts(impacts, dtype).restored()).sum()
    return float(lost / exact.sum()) if len(exact) else 0.0


def index_of_rows(
    offsets: NDArray[np.int64],
    terms: NDArray[np.integer],
    impacts: NDArray[np.floating],
    vocabulary: int,
    dtype: str = "float32",
) -> ImpactIndex:
    """Build an index from the documents' sparse vectors, the rows of a CSR matrix.

    Args:
        offsets: document d's vector is at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        terms: ids below `vocabulary`, each at most once per document, in any order, (n,).
        impacts: ≥ 0, (n,). Impacts that are 0 or too small for `dtype` are left out.
        vocabulary: number of terms.
        dtype: the storage type of the impacts, float32, float16 or uint8.

    Raises:
        InputError: as `store_impacts`, or a term is past the vocabulary or twice in a document.
    """
    if len(terms) and not 0 <= terms.min() <= terms.max() < vocabulary:
        raise InputError(f"a term is past the vocabulary of {vocabulary:,}")
    values, scale = store_impacts(impacts, dtype)
    positive = values > 0
    starts = np.concatenate([[0], np.cumsum(positive)])[offsets].astype(np.int64)
    own = terms[positive]
    order = order_of_numbers(own)
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(starts))
    documents, by_term = rows[order], values[positive][order]
    begins = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=vocabulary))])
    repeated = documents[1:] == documents[:-1]
    repeated[begins[(begins > 0) & (begins < len(documents))] - 1] = False  # another term begins
    if repeated.any():
        raise InputError("a document has a term twice; add up its impacts first")
    largest = largest_impacts(begins, by_term, scale)
    return ImpactIndex(begins, documents, by_term, largest, len(offsets) - 1, scale)
