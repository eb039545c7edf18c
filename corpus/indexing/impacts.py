"""Build an impact index of learned sparse vectors and store impacts in fewer bits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.ordering import order_numbers
from ranklet.corpus.indexing.packer import packed, release, spans
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import check_one_of
from ranklet.runtime.lexical.impact_index import (
    CODES,
    IMPACT_TYPES,
    ImpactIndex,
    as_stored,
    largest_impacts,
)
from ranklet.runtime.lexical.max_score import Impacts

_AT_ONCE = 1 << 20  # impacts that are converted at a time


def in_fewer_bits(index: ImpactIndex, dtype: str) -> ImpactIndex:
    """Return an index with impacts of another type of `IMPACT_TYPES`, in a temporary file.

    It has the same postings, because an impact that is too small for the type becomes the least
    that is above 0. In uint8, the largest impact of each term is 255.

    Args:
        index: an index whose impacts are float32.
        dtype: float32, float16 or uint8.

    Raises:
        InputError: an impact is too large for the type.
    """
    check_one_of("dtype", dtype, tuple(IMPACT_TYPES))
    if dtype == "float32":
        return index
    kind, most = np.dtype(IMPACT_TYPES[dtype]), float(index.largest.max(initial=0))
    if kind == np.float16 and most > float(np.finfo(np.float16).max):
        raise InputError(f"an impact is {most:g}, which is too large for {dtype}")

    def values() -> Iterator[NDArray[Any]]:
        for part, scales in _with_scales(index):
            yield as_stored(part.astype(np.float32, copy=False), kind, scales).astype(kind)
            release(part)

    # In uint8 it is the unit of the others, and no other number may round it.
    largest = index.largest if kind == np.uint8 else as_stored(index.largest, kind, _ONE)
    stored = packed(values(), kind)
    return ImpactIndex(index.offsets, index.documents, stored, largest, index.size)


_ONE = np.ones(1, np.float32)


def _with_scales(index: ImpactIndex) -> Iterator[tuple[Impacts, NDArray[np.float32]]]:
    """Yield some impacts at a time, and what one step of uint8 is in the term of each."""
    for begin, end in spans(index.offsets, _AT_ONCE):
        own = index.offsets[begin : end + 1]
        scales = index.largest[begin:end] / np.float32(CODES)
        yield index.impacts[own[0] : own[-1]], np.repeat(scales, np.diff(own))


def storage_loss(exact: ImpactIndex, stored: ImpactIndex) -> float:
    """Return Σ |impact − stored| / Σ impact, the relative loss of a storage type.

    Args:
        exact: an index whose impacts are float32.
        stored: the same postings; see `in_fewer_bits`.
    """
    lost, total = 0.0, 0.0
    coded = stored.impacts.dtype == np.uint8
    for (impacts, scales), (own, _) in zip(_with_scales(exact), _with_scales(stored), strict=True):
        restored = own.astype(np.float32) * (scales if coded else _ONE)
        lost += float(np.abs(impacts - restored).sum(dtype=np.float64))
        total += float(impacts.sum(dtype=np.float64))
    return lost / total if total else 0.0


def index_rows(
    offsets: NDArray[np.int64],
    terms: NDArray[np.integer],
    impacts: NDArray[np.floating],
    vocabulary: int,
) -> ImpactIndex:
    """Build an index from the documents' sparse vectors, the rows of a CSR matrix.

    Args:
        offsets: document d's vector is at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        terms: ids below `vocabulary`, each at most once per document, in any order, (n,).
        impacts: finite and ≥ 0, (n,). Impacts that are 0 are left out.
        vocabulary: number of terms.

    Returns:
        An index whose impacts are float32; see `in_fewer_bits`.

    Raises:
        InputError: an impact is negative, NaN or too large, or a term is past the vocabulary or
            twice in a document.
    """
    if len(terms) and not 0 <= terms.min() <= terms.max() < vocabulary:
        raise InputError(f"a term is past the vocabulary of {vocabulary:,}")
    values = np.asarray(impacts, np.float32)
    if not ((values >= 0) & np.isfinite(values)).all():
        raise InputError("an impact is negative, NaN or too large; an index holds those above 0")
    positive = values > 0
    starts = np.concatenate([[0], np.cumsum(positive)])[offsets].astype(np.int64)
    own = terms[positive]
    order = order_numbers(own)
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(starts))
    documents, by_term = rows[order], values[positive][order]
    begins = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=vocabulary))])
    repeated = documents[1:] == documents[:-1]
    repeated[begins[(begins > 0) & (begins < len(documents))] - 1] = False  # another term begins
    if repeated.any():
        raise InputError("a document has a term twice; add up its impacts first")
    largest = largest_impacts(begins, by_term)
    return ImpactIndex(begins, documents, by_term, largest, len(offsets) - 1)
