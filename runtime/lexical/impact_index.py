"""Impact index, which holds postings of (document, impact), and the retrieval routine over it.

Precomputed BM25, EPIC's pruned document vectors and NDRM's query-term-independent scores are all
impacts. A query is a sparse vector over terms. A document's score is the dot product of both.
"""

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.call.mask import Mask, check_mask
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.call.topk import Scored, top_k
from ranklet.runtime.ground.errors import BundleError, InputError, damaged
from ranklet.runtime.lexical.max_score import (
    NOTHING,
    RANGE,
    Impacts,
    Numbers,
    PostingList,
    add_to,
    max_score,
)
from ranklet.runtime.storage.arrays import id_type, rows_ascend
from ranklet.runtime.storage.block_array import fetch_rows, is_absent

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

# The files of an index, in a folder of a bundle.
OFFSETS = "offsets.npy"  # positions of each term's postings, (terms + 1,) int64 or uint32
DOCUMENTS = "documents.npy"  # (postings,) of their `id_type`
IMPACTS = "impacts.npy"  # > 0, (postings,) of one of `IMPACT_TYPES`
LARGEST = "largest.npy"  # the largest impact of each term, (terms,) float32
CODES = 255  # which is the code in uint8 of each term's largest impact; a scale per term

# Storage types of impacts. A posting takes 8, 6 or 5 bytes, and two less in a small collection.
IMPACT_TYPES = {"float32": np.float32, "float16": np.float16, "uint8": np.uint8}

_SMALL = 1 << 13  # documents, and postings of a query, that are added up at once


class ImpactIndex:
    """Postings in memory or memory-mapped; immutable and shared by all threads.

    Args:
        offsets: postings of term t are at ``offsets[t]:offsets[t + 1]``, (terms + 1,) int64
            or uint32.
        documents: document numbers, ascending within a term, (postings,) uint32, or uint16 if
            there are at most 65,536 documents.
        impacts: the term's contributions to document scores, > 0, (postings,) float32 or float16;
            or uint8, in units of `term_scale` the term.
        largest: the largest impact of each term, (terms,) float32.
        size: number of documents in the collection.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        documents: Numbers,
        impacts: Impacts,
        largest: NDArray[np.float32],
        size: int,
    ) -> None:
        self.offsets, self.documents, self.impacts = offsets, documents, impacts
        self.largest, self.size = largest, size
        self._local = threading.local()

    @classmethod
    def open(
        cls,
        bundle: "BundleFiles",
        folder: str,
        terms: int,
        dtypes: Sequence[str] = tuple(IMPACT_TYPES),
    ) -> "ImpactIndex":
        """Map the index in a folder of a bundle.

        Args:
            bundle: a bundle with a collection.
            folder: the index's folder in the bundle, with a final slash.
            terms: size of the vocabulary.
            dtypes: allowed storage types of the impacts, of `IMPACT_TYPES`.

        Raises:
            BundleError: an array is missing or has another type or shape.
        """
        offsets = bundle.offsets(folder + OFFSETS, terms, narrow=True)
        postings, size = int(offsets[-1]), bundle.manifest.documents
        types = [IMPACT_TYPES[dtype] for dtype in dtypes]
        return cls(
            offsets,
            bundle.array(folder + DOCUMENTS, np.uint32, (postings,), id_type(size)),
            bundle.array(folder + IMPACTS, types[0], (postings,), *types[1:]),
            bundle.array(folder + LARGEST, np.float32, (terms,)),
            size,
        )

    def postings(self, term: int) -> tuple[Numbers, Impacts]:
        """Return the documents of a term and their stored impacts, in units of its scale.

        A term past the index has no documents.
        """
        if not 0 <= term < len(self.offsets) - 1:
            return self.documents[:0], self.impacts[:0]
        begin, end = self.offsets[term], self.offsets[term + 1]
        return self.documents[begin:end], self.impacts[begin:end]

    def frequencies(self, terms: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many documents have each term, (terms,) int64."""
        last = len(self.offsets) - 1  # where a term past the index begins and ends
        begins, ends = np.minimum(terms, last), np.minimum(terms + 1, last)
        df: NDArray[np.int64] = (self.offsets[ends] - self.offsets[begins]).astype(np.int64)
        return df

    def retrieve(
        self,
        terms: NDArray[np.int32],
        weights: NDArray[np.float32],
        k: int,
        allowed: Mask | None = None,
        more: Scored | None = None,
        kept: list[NDArray[np.float32]] | None = None,
    ) -> Scored:
        """Return the k documents with the largest dot product, best first, ties by number.

        Documents without any of the terms are never returned, so there may be fewer than k. A
        document has the same score with any mask, to the bit.

        Args:
            terms: the query's term ids without repetitions, (terms,) int32.
            weights: the query's weight of each term, ≥ 0, (terms,) float32.
            k: number of documents to return.
            allowed: whether each document may be returned, (documents,) bool; None allows all.
            more: documents, ascending, and what is added to their scores, > 0; None for nothing.
            kept: receives the scores of all documents, (documents,), where all are added up.

        Raises:
            InputError: a weight is negative or NaN, or the mask has another type or shape.
            BundleError: the bundle is damaged or hostile, because a posting has a document past
                the collection or a score is not finite.
        """
        mask = check_mask(allowed, self.size)
        if not (weights >= 0).all():
            raise InputError(
                "a query has a term weight that is negative or NaN; use weights from 0"
            )
        if k > 0:
            self.fetch(terms, self.largest)
        lists = [
            PostingList(
                documents,
                impacts,
                np.float32(weight * self.term_scale(term)),
                weight * self._bound(term, impacts),
            )
            for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
            for documents, impacts in [self.postings(term)]
            if len(documents) and weight > NOTHING
        ]
        if more is not None and len(more[0]):
            documents, added = more[0].astype(self.documents.dtype, copy=False), more[1]
            lists.append(PostingList(documents, added, np.float32(1), float(added.max())))
        if k <= 0 or not lists:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        lists.sort(key=lambda each: -each.bound)
        if max(self.size, sum(len(each.documents) for each in lists)) <= _SMALL:
            sums = self._sums(lists)
            if kept is not None:
                kept.append(sums)
            return _best(sums, k, mask)
        try:
            documents, scores = max_score(lists, k, self.size, mask, self._work())
        except IndexError as error:
            raise self._past() from error
        best = top_k(scores, k, ties=documents)
        documents, scores = documents[best], scores[best]
        if not np.isfinite(scores).all():
            raise damaged("an impact is not finite")
        if len(best) and documents.max() >= self.size:
            raise self._past()
        return documents.astype(np.uint32, copy=False), scores

    def matching(self, terms: NDArray[np.int32]) -> Mask:
        """Return which documents have at least one of some terms, (documents,) bool.

        Raises:
            BundleError: a posting has a document past the collection.
        """
        self.fetch(terms)
        mask = np.zeros(self.size, np.bool_)
        try:
            for term in terms.tolist():
                mask[self.postings(term)[0]] = True
        except IndexError as error:
            raise self._past() from error
        return mask

    def _sums(self, lists: list[PostingList]) -> NDArray[np.float32]:
        """Return the score of each document of a small index, whose lists are read at once."""
        documents = np.concatenate([each.documents for each in lists])
        weights = np.array([each.weight for each in lists], np.float32)
        factors = np.repeat(weights, [len(each.documents) for each in lists])
        added = np.concatenate([each.impacts for each in lists]).astype(np.float32) * factors
        sums = np.zeros(self.size, np.float32)
        try:
            np.add.at(sums, documents, added)  # in the order of the lists, as elsewhere
        except IndexError as error:
            raise self._past() from error
        return sums

    def matrix(
        self, terms: NDArray[np.int32], documents: NDArray[np.uint32]
    ) -> NDArray[np.float32]:
        """Return the impact of each term in each document, (terms, documents) float32."""
        impacts = np.zeros((len(terms), len(documents)), np.float32)
        self.fetch(terms)
        for row, term in zip(impacts, terms.tolist(), strict=True):
            scale = np.float32(self.term_scale(term))
            add_to(row, PostingList(*self.postings(term), scale, 0.0), documents)
        return impacts

    def term_scale(self, term: int) -> float:
        """Return the factor of a term's stored impacts, which is 1 for all types but uint8."""
        if self.impacts.dtype != np.uint8 or not 0 <= term < len(self.largest):
            return 1.0
        return float(self.largest[term]) / CODES

    def rounded(
        self, impacts: NDArray[np.float32], terms: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return impacts of some terms as they would be if the index stored them.

        Those of a term that has no postings are returned as they are.

        Args:
            impacts: the impact of each term in each of some texts, (terms, texts) float32.
            terms: the terms, (terms,) int32.
        """
        kind = self.impacts.dtype
        if kind == np.float32:
            return impacts
        scales = np.array([self.term_scale(each) for each in terms.tolist()], np.float32)[:, None]
        known = (self.frequencies(terms) > 0)[:, None]
        scales = np.where(known, scales, np.float32(1))
        return np.where(known, as_stored(impacts, kind, scales) * scales, impacts)

    def by_document(self) -> Iterator[SparseQuery]:
        """Yield the terms of each document and their impacts.

        It takes some 24 bytes of memory per posting.

        >>> index = ImpactIndex(
        ...     np.array([0, 2, 3]), np.array([0, 1, 1], np.uint32), np.array([1, 2, 3], "<f4"),
        ...     np.array([2, 3], "<f4"), size=3,
        ... )
        >>> [each.terms.tolist() for each in index.by_document()]
        [[0], [0, 1], []]
        """
        order = np.argsort(self.documents, kind="stable")
        counts = np.bincount(self.documents, minlength=self.size)
        ends = np.cumsum(counts).tolist()
        terms = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        terms = terms[order]
        impacts = self.impacts[order].astype(np.float32)
        if self.impacts.dtype == np.uint8:
            impacts *= (self.largest / np.float32(CODES))[terms]
        for begin, end in pairwise([0, *ends]):
            yield SparseQuery(terms[begin:end], impacts[begin:end])

    def verify(self, name: str) -> None:
        """Check every posting.

        Raises:
            BundleError: a posting is wrong; the message begins with `name`.
        """
        if len(self.documents) and self.documents.max() >= self.size:
            raise BundleError(f"{name}: a posting has a document past the {self.size} there are")
        if not rows_ascend(self.offsets, self.documents):
            raise BundleError(f"{name}: the documents of a term do not ascend")
        if not (np.isfinite(self.impacts) & (self.impacts > 0)).all():
            raise BundleError(f"{name}: an impact is not finite and positive")
        coded = self.impacts.dtype == np.uint8  # and then this is the unit of the impacts
        least = np.float32(0) if coded else largest_impacts(self.offsets, self.impacts)
        filled = np.diff(self.offsets) > 0
        wrong = (self.largest <= 0) & filled | (self.largest < least)
        if wrong.any() or not np.isfinite(self.largest).all():
            raise BundleError(f"{name}: the stored maximum of a term is not its largest impact")

    def fetch(self, terms: NDArray[np.int32], *others: NDArray[np.float32]) -> None:
        """Fetch all postings of some terms at once, and the terms' numbers in other arrays."""
        ragged = (self.offsets, self.documents, self.impacts)
        if any(map(is_absent, (*others, *ragged))):
            known = terms[(terms >= 0) & (terms < len(self.offsets) - 1)]
            fetch_rows(known, plain=others, ragged=[ragged])

    def _bound(self, term: int, impacts: Impacts) -> float:  # noqa: ARG002
        """Return the largest impact of a term, which has some impacts."""
        return float(self.largest[term])

    def _work(self) -> NDArray[np.float32]:
        """Return an array that a thread uses again, (min(size, RANGE),) float32."""
        if not hasattr(self._local, "work"):
            self._local.work = np.empty(min(self.size, RANGE), np.float32)
        work: NDArray[np.float32] = self._local.work
        return work

    def _past(self) -> BundleError:
        return damaged(f"a posting has a document past the {self.size} of the collection")


def largest_impacts(offsets: NDArray[np.int64], impacts: Impacts) -> NDArray[np.float32]:
    """Return the largest impact of each term, 0 for a term without postings, (terms,) float32."""
    largest = np.zeros(len(offsets) - 1, np.float32)
    filled = np.diff(offsets) > 0  # reduceat does not allow empty rows
    largest[filled] = np.maximum.reduceat(impacts, offsets[:-1][filled])
    return largest


def as_stored(
    impacts: NDArray[np.float32], dtype: DTypeLike, scale: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the nearest numbers that a type of `IMPACT_TYPES` holds, in uint8 of these scales.

    An impact above 0 never becomes 0, so that no posting is lost.

    >>> as_stored(np.array([0, 0.01, 1, 2.6], "f4"), np.uint8, np.float32(1)).tolist()
    [0.0, 1.0, 1.0, 3.0]
    """
    if dtype == np.float32:
        return impacts
    if dtype == np.uint8:
        values, least = np.rint(impacts / scale), np.float32(1)
    else:
        values = impacts.astype(np.float16).astype(np.float32)
        least = np.float32(2.0**-24)
    return np.where(impacts > 0, np.maximum(values, least), np.float32(0))


def _best(sums: NDArray[np.float32], k: int, mask: Mask | None) -> Scored:
    """Return the k documents with the largest scores above 0, of all or of those allowed."""
    found = np.flatnonzero(sums if mask is None else np.where(mask, sums, 0))
    scores = sums[found]
    best = top_k(scores, k)
    if not np.isfinite(scores[best]).all():
        raise damaged("an impact is not finite")
    return found[best].astype(np.uint32), scores[best]
