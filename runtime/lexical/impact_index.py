"""Impact index: postings of (document, impact), and the one retrieval routine over them.

BM25 precomputed, EPIC's pruned document vectors and NDRM's query-term-independent scores are all
impacts; a query is a sparse vector over terms; a score is their dot product.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, InputError

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.pipeline.topk import top_k

# The files of an index, in a folder of a bundle.
OFFSETS = "offsets.npy"  # postings of each term, (terms + 1,) int64
DOCUMENTS = "documents.npy"  # (postings,) uint32
IMPACTS = "impacts.npy"  # > 0, (postings,) of one of `FORMS`
LARGEST = "largest.npy"  # the largest impact of each term, (terms,) float32
SCALE = "scale.npy"  # what uint8 impacts are multiplied by, > 0, (1,) float32; with uint8 only

# What impacts may be stored as. Postings of uint8 take 5 bytes, of float16 6, of float32 8.
FORMS = {"float32": np.float32, "float16": np.float16, "uint8": np.uint8}

Impacts = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.uint8]

_NOTHING = 1e-20  # a weight below it counts as 0: its products would vanish in float32
_HAIR = 1e-5  # of a score; float32 sums of a hundred terms are off by less

Scored = tuple[NDArray[np.uint32], NDArray[np.float32]]  # documents best first, their scores


class ImpactIndex:
    """Postings in memory or memory-mapped; immutable and shared by all threads.

    Args:
        offsets: postings of term t are at ``offsets[t]:offsets[t + 1]``, (terms + 1,) int64.
        documents: document numbers, ascending within a term, (postings,) uint32.
        impacts: what the term adds to the document's score, over `scale`, > 0, (postings,)
            float32, float16 or uint8.
        largest: the largest impact of each term, scale included, (terms,) float32.
        size: number of documents in the collection.
        scale: what every stored impact is multiplied by; 1 for all but uint8.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64],
        documents: NDArray[np.uint32],
        impacts: Impacts,
        largest: NDArray[np.float32],
        size: int,
        scale: float = 1.0,
    ) -> None:
        self.offsets, self.documents, self.impacts = offsets, documents, impacts
        self.largest, self.size, self.scale = largest, size, scale
        self._local = threading.local()

    @classmethod
    def open(
        cls, bundle: "BundleFiles", folder: str, terms: int, forms: Sequence[str] = tuple(FORMS)
    ) -> "ImpactIndex":
        """Map the index in a folder of a bundle.

        Args:
            bundle: with a collection.
            folder: ends with a slash.
            terms: size of the vocabulary.
            forms: of `FORMS`, what the impacts may be stored as.

        Raises:
            BundleError: an array is missing, of another type or shape, or the scale is not a number
                above 0.
        """
        offsets = bundle.offsets(folder + OFFSETS, terms)
        postings = int(offsets[-1])
        types = [FORMS[form] for form in forms]
        impacts = bundle.array(folder + IMPACTS, types[0], (postings,), *types[1:])
        scale = 1.0
        if impacts.dtype == np.uint8:
            scale = float(bundle.array(folder + SCALE, np.float32, (1,))[0])
            if not 0 < scale < float("inf"):
                raise BundleError(f"{folder + SCALE} is {scale}; it must be a number above 0")
        return cls(
            offsets,
            bundle.array(folder + DOCUMENTS, np.uint32, (postings,)),
            impacts,
            bundle.array(folder + LARGEST, np.float32, (terms,)),
            bundle.manifest.documents,
            scale,
        )

    def postings(self, term: int) -> tuple[NDArray[np.uint32], Impacts]:
        """Return the documents of a term and their stored impacts; none for a term past the index.

        What is stored is to be multiplied by `scale`.
        """
        if not 0 <= term < len(self.offsets) - 1:
            return self.documents[:0], self.impacts[:0]
        begin, end = self.offsets[term], self.offsets[term + 1]
        return self.documents[begin:end], self.impacts[begin:end]

    def retrieve(self, terms: NDArray[np.int32], weights: NDArray[np.float32], k: int) -> Scored:
        """Return the k documents with the largest dot product, best first, ties by number.

        Documents that no term reaches are never returned, so there may be fewer than k.

        Args:
            terms: the query's term ids without repeats, (terms,) int32.
            weights: the query's weight of each, ≥ 0, (terms,) float32.
            k: how many documents to return.

        Raises:
            InputError: a weight is below 0 or no number.
            BundleError: a posting names a document that the collection does not have, or a score
                is not finite: the bundle is damaged or hostile.
        """
        if not (weights >= 0).all():
            raise InputError("a query's weight of a term must be a number from 0")
        lists = [
            _List(documents, impacts, weight * self.scale, weight * float(self.largest[term]))
            for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
            for documents, impacts in [self.postings(term)]
            if len(documents) and weight > _NOTHING
        ]
        if k <= 0 or not lists:
            return np.empty(0, np.uint32), np.empty(0, np.float32)
        accumulator = self._accumulator()
        touched: list[NDArray[np.uint32]] = []
        try:
            documents, scores = _max_score(lists, accumulator, touched, k)
        except IndexError as error:
            self._local.accumulator = None  # it may hold sums that no list of ours names
            raise BundleError(
                f"a posting names a document past the {self.size} of the collection: the bundle "
                "is damaged; run `ranklet verify` on it"
            ) from error
        for part in touched:  # clearing what was touched is cheaper than clearing all
            accumulator[part] = 0
        best = top_k(scores, k, ties=documents)
        if not np.isfinite(scores[best]).all():
            raise BundleError("an impact is not finite: the bundle is damaged; run ranklet verify")
        return documents[best], scores[best]

    def matrix(
        self, terms: NDArray[np.int32], documents: NDArray[np.uint32]
    ) -> NDArray[np.float32]:
        """Return the impact of each term on each of some documents, (terms, documents) float32."""
        impacts = np.zeros((len(terms), len(documents)), np.float32)
        for row, term in zip(impacts, terms.tolist(), strict=True):
            _probe(*self.postings(term), documents, row)
        return impacts if self.scale == 1 else impacts * np.float32(self.scale)

    def verify(self, name: str) -> None:
        """Check every posting; BundleError, which begins with `name`, says what is wrong."""
        if len(self.documents) and self.documents.max() >= self.size:
            raise BundleError(f"{name}: a posting names a document past the {self.size} there are")
        within = np.ones(len(self.documents), np.bool_)  # False where a term's postings begin
        within[self.offsets[:-1][np.diff(self.offsets) > 0]] = False
        steps = np.diff(self.documents.astype(np.int64), prepend=-1)
        if (steps[within] <= 0).any():
            raise BundleError(f"{name}: the documents of a term do not ascend")
        if not (np.isfinite(self.impacts) & (self.impacts > 0)).all():
            raise BundleError(f"{name}: an impact is not a number above 0")
        filled = np.diff(self.offsets) > 0
        largest = largest_impacts(self.offsets, self.impacts, self.scale)[filled]
        if (largest > self.largest[filled]).any() or not np.isfinite(self.largest).all():
            raise BundleError(f"{name}: the largest impact of a term is not its largest")

    def _accumulator(self) -> NDArray[np.float32]:
        """Return this thread's array of zeros, one for each document, (size,) float32."""
        held: NDArray[np.float32] | None = getattr(self._local, "accumulator", None)
        if held is None:
            held = self._local.accumulator = np.zeros(self.size, np.float32)
        return held


def largest_impacts(
    offsets: NDArray[np.int64], impacts: Impacts, scale: float = 1.0
) -> NDArray[np.float32]:
    """Return the largest impact of each term, 0 of one without postings; (terms,) float32."""
    found = np.zeros(len(offsets) - 1, np.float32)
    filled = np.diff(offsets) > 0  # reduceat wants no empty rows
    found[filled] = np.maximum.reduceat(impacts, offsets[:-1][filled])
    return found * np.float32(scale)


class _List:
    """The postings of one query term."""

    __slots__ = ("bound", "documents", "impacts", "weight")

    def __init__(
        self,
        documents: NDArray[np.uint32],
        impacts: Impacts,
        weight: float,
        bound: float,
    ) -> None:
        self.documents, self.impacts = documents, impacts
        self.weight, self.bound = np.float32(weight), bound


def _max_score(
    lists: list[_List],
    accumulator: NDArray[np.float32],
    touched: list[NDArray[np.uint32]],
    k: int,
) -> Scored:
    """MaxScore (Turtle & Flood 1995), vectorised: scan short strong lists, probe long weak ones.

    Once the k-th best partial score exceeds all that the remaining lists could add together, no new
    document can enter the top k: the remaining lists are then only probed at the documents that
    are still in the race. `touched` receives what the caller must clear in `accumulator`.
    """
    lists.sort(key=lambda each: -each.bound)
    found = 0
    for position, each in enumerate(lists):
        ahead = lists[position:]
        remaining = sum(rest.bound for rest in ahead)
        # Finding the threshold costs about as much as scanning as many postings as were touched.
        if found >= k and sum(len(rest.documents) for rest in ahead) > 2 * found:
            documents = np.concatenate(touched)
            scores = accumulator[documents]
            threshold = np.partition(scores, found - k)[found - k]
            # Rounding must not lose a document at the border: bounds are kept a hair wider.
            if threshold * (1 - _HAIR) > remaining:
                return _probe_rest(ahead, documents, scores, threshold, remaining, k)
        current = accumulator[each.documents]
        fresh = each.documents[current == 0]
        touched.append(fresh)
        found += len(fresh)
        # In float32 by name: numpy 1's product of a number and a float16 array is a float16 array.
        current += np.multiply(each.impacts, each.weight, dtype=np.float32)
        accumulator[each.documents] = current
    documents = np.concatenate(touched)
    return documents, accumulator[documents]


def _probe_rest(
    lists: list[_List],
    documents: NDArray[np.uint32],
    scores: NDArray[np.float32],
    threshold: float,
    remaining: float,
    k: int,
) -> Scored:
    """Add what the remaining lists give to the documents that can still reach the top k."""
    documents_in, scores_in = documents, scores
    order: NDArray[np.intp] | None = None
    for each in lists:
        racing = scores_in >= threshold * (1 - _HAIR) - remaining
        documents_in, scores_in = documents_in[racing], scores_in[racing]
        if order is None:
            order = np.argsort(documents_in)
            documents_in, scores_in = documents_in[order], scores_in[order]
        gained = np.zeros(len(documents_in), np.float32)
        _probe(each.documents, each.impacts, documents_in, gained)
        scores_in = scores_in + each.weight * gained
        remaining -= each.bound
        if len(scores_in) >= k:  # always, unless the largest impacts are not the largest
            threshold = np.partition(scores_in, len(scores_in) - k)[len(scores_in) - k]
    return documents_in, scores_in


def _probe(
    postings: NDArray[np.uint32],
    impacts: Impacts,
    documents: NDArray[np.uint32],
    out: NDArray[np.float32],
) -> None:
    """Write to `out` the impact of each of `documents` in a list, leaving absent ones alone."""
    if not len(postings):
        return
    at = np.searchsorted(postings, documents)
    at[at == len(postings)] = 0
    present = postings[at] == documents
    out[present] = impacts[at[present]]
