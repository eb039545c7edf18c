"""Building an impact index of learned sparse vectors, and storing impacts in fewer bits."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.impact_index import FORMS, ImpactIndex, Impacts, largest_impacts
from ranklet.runtime.storage.checks import check_one_of

_CODES = 255  # of uint8, above 0


class StoredImpacts(NamedTuple):
    """Impacts as they are stored: impact ≈ value · scale."""

    values: Impacts  # (n,) float32, float16 or uint8
    scale: float  # 1 for all but uint8

    def restored(self) -> NDArray[np.float32]:
        """Return what serving adds up, (n,) float32."""
        return self.values.astype(np.float32) * np.float32(self.scale)


def store_impacts(impacts: NDArray[np.floating], form: str) -> StoredImpacts:
    """Store impacts in one of `FORMS`; uint8 has one scale, so that the largest impact is 255.

    Args:
        impacts: finite and ≥ 0, (n,) floating.
        form: float32, float16 or uint8.

    Returns:
        Impacts too small for the form become 0.

    Raises:
        InputError: an impact is negative or no number, or too large for the form.

    >>> stored = store_impacts(np.array([0.001, 0.25, 1.0]), "uint8")
    >>> stored.values.tolist(), [f"{value:.3f}" for value in stored.restored()]
    ([0, 64, 255], ['0.000', '0.251', '1.000'])
    """
    check_one_of("form", form, tuple(FORMS))
    exact = np.asarray(impacts, np.float32)
    if not (exact >= 0).all():
        raise InputError("an impact is negative or no number; an index holds what is above 0")
    largest = float(exact.max(initial=0))
    if largest > float(np.finfo(np.float16 if form == "float16" else np.float32).max):
        raise InputError(f"an impact is {largest:g}, which {form} cannot hold")
    if form != "uint8":
        return StoredImpacts(exact.astype(FORMS[form]), 1.0)
    # Rounded to float32 first: this is the scale that a bundle holds.
    scale = np.float32(largest / _CODES if largest else 1)
    return StoredImpacts(np.rint(exact / scale).clip(0, _CODES).astype(np.uint8), float(scale))


def storage_loss(impacts: NDArray[np.floating], form: str) -> float:
    """Return Σ |impact − stored| / Σ impact: what storing them in a form loses.

    >>> storage_loss(np.array([1.0, 0.5]), "float16")
    0.0
    """
    exact = np.asarray(impacts, np.float64)
    lost = np.abs(exact - store_impacts(impacts, form).restored()).sum()
    return float(lost / exact.sum()) if len(exact) else 0.0


def index_of_rows(
    offsets: NDArray[np.int64],
    terms: NDArray[np.integer],
    impacts: NDArray[np.floating],
    vocabulary: int,
    form: str = "float32",
) -> ImpactIndex:
    """Build an index of documents' sparse vectors, given as the rows of a CSR matrix.

    Args:
        offsets: vector of document d is at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        terms: ids below `vocabulary`, each at most once in a document, in any order, (n,).
        impacts: ≥ 0, (n,); what is 0, or too small for `form`, is left out.
        vocabulary: number of terms.
        form: what impacts are stored as: float32, float16 or uint8.

    Raises:
        InputError: as `store_impacts`; a term is past the vocabulary, or twice in a document.
    """
    if len(terms) and not 0 <= terms.min() <= terms.max() < vocabulary:
        raise InputError(f"a term is past the vocabulary of {vocabulary:,}")
    values, scale = store_impacts(impacts, form)
    kept = values > 0
    starts = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
    columns = _by_term(starts, terms[kept], values[kept], vocabulary)
    documents, by_term = columns.indices.astype(np.uint32), columns.data
    begins = columns.indptr.astype(np.int64)
    again = documents[1:] == documents[:-1]
    again[begins[(begins > 0) & (begins < len(documents))] - 1] = False  # of another term
    if again.any():
        raise InputError("a document has a term twice; add its impacts up before")
    largest = largest_impacts(begins, by_term, scale)
    return ImpactIndex(begins, documents, by_term, largest, len(offsets) - 1, scale)


def index_of_triples(
    documents: NDArray[np.integer],
    terms: NDArray[np.integer],
    impacts: NDArray[np.floating],
    vocabulary: int,
    size: int,
    form: str = "float32",
) -> ImpactIndex:
    """Build an index of (document, term, impact) in any order; see `index_of_rows`.

    Args:
        documents: numbers below `size`, (n,).
        terms: (n,).
        impacts: (n,).
        vocabulary: number of terms.
        size: number of documents.
        form: what impacts are stored as.
    """
    if len(documents) and not 0 <= documents.min() <= documents.max() < size:
        raise InputError(f"a document's number is past the {size:,} that there are")
    order = np.argsort(documents, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=size))])
    return index_of_rows(offsets.astype(np.int64), terms[order], impacts[order], vocabulary, form)


def _by_term(
    offsets: NDArray[np.int64], terms: NDArray[np.integer], values: Impacts, vocabulary: int
) -> Any:
    """Return the rows by column, a scipy CSC matrix whose documents ascend within a term.

    scipy knows no float16, so those travel as the integers of their bits.
    """
    from scipy.sparse import csr_matrix

    held = values.view(np.uint16) if values.dtype == np.float16 else values
    matrix = csr_matrix((held, terms, offsets), (len(offsets) - 1, vocabulary)).tocsc()
    matrix.data = matrix.data.view(values.dtype)
    return matrix
