"""MaxScore (Turtle & Flood 1995) over whole arrays.

A list's bound is the most that it adds to a score. The threshold is a score that k documents are
known to reach. A document whose score so far, plus the bounds of the lists that are left, is below
the threshold cannot be among the k best. So the lists with the largest bounds, the rare terms, are
read first, and in the others only few documents are looked up.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.topk import Scored
from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.ground.sets import distinct

Impacts = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.uint8]
Numbers = NDArray[np.unsignedinteger[Any]]  # of documents, uint16 or uint32

NOTHING = 1e-20  # a smaller score counts as 0, because its products would vanish in float32
RANGE = 1 << 18  # documents whose sums stay in the cache
_HAIR = 1e-5  # relative margin; float32 sums of a hundred terms have smaller errors
_UNITS = 60_000  # of a sum in uint16, in all bounds together
_BISECTION = 25  # postings that are added up in the time in which one document is looked up
_SUM = 1 / 8  # and in the time in which one sum is cleared
_LISTED = 1 / 32  # and in the time in which a mask is searched for one document
_FILTERED = 1 / 4  # of the documents; lists are filtered by a mask that allows fewer
_STARTING = 300  # documents that are looked up in the time of the calls for one list
_FEW = 64  # documents of a range that are rather looked up than a further list is added up
_WAITING = 2000  # documents that are looked up at once
_GATHERED = 1 / 8  # of the documents; the sums of fewer are rather gathered
_SEEDS, _KEPT = 500, 50  # documents that are scored for a first threshold, of few lists and of all


class PostingList(NamedTuple):
    """The postings of one query term."""

    documents: Numbers  # ascending, (postings,)
    impacts: Impacts  # (postings,)
    weight: np.float32  # factor of the impacts
    bound: float  # the largest product of both


class _Search(NamedTuple):
    """What is searched for in which lists."""

    lists: Sequence[PostingList]
    left: Sequence[float]  # the sum of the bounds from each list on, 0 at the end, (lists + 1,)
    k: int
    mask: Mask | None

    def after(self, first: int) -> "_Search":
        """Return the search in the lists from one on."""
        return self._replace(lists=self.lists[first:], left=self.left[first:])

    def in_units(self, unit: float) -> "_Search":
        """Return the search for sums in units.

        One unit per list is left, too, which is what rounding adds or loses at most.
        """
        lists = [
            each._replace(weight=np.float32(each.weight / unit), bound=each.bound / unit)
            for each in self.lists
        ]
        left = [each / unit + len(lists) for each in self.left]
        return self._replace(lists=lists, left=left)


def max_score(
    lists: Sequence[PostingList], k: int, size: int, mask: Mask | None, sums: NDArray[np.float32]
) -> Scored:
    """Return the scores of documents of which the k best are some.

    Args:
        lists: largest bounds first, which is the order of every document's sum.
        k: number of wanted documents, > 0.
        size: number of documents in the collection.
        mask: whether each document may be returned; None allows all.
        sums: an array to work with, (min(size, RANGE),) float32.

    Raises:
        IndexError: a posting has a document past the collection.
        BundleError: a bound is wrong or an impact is not finite.
    """
    search, none = _search(lists, k, mask), lists[0].documents[:0]
    share = 1.0 if mask is None else np.count_nonzero(mask) / size
    if mask is not None and size * (share * _BISECTION * len(lists) + _LISTED) < _postings(lists):
        return _look_up(search, 0.0, np.flatnonzero(mask).astype(none.dtype), joined=False)
    if share < _FILTERED:
        return _look_up(search, 0.0, none, joined=True)
    if size <= RANGE or _is_short(lists, k):
        return _add_all(search, size, sums)
    if _is_quick(search, least := _seed(search), size):
        return _look_up(search, least, none, joined=True)
    kind = np.uint16 if len(lists) < (1 << 16) - _UNITS else np.uint32
    with np.errstate(invalid="ignore"):  # what a damaged bundle has may be no number
        documents = _add_up(search, least, size, sums.view(kind)[:RANGE])
    return _look_up(search, least, documents, joined=False)


def _search(lists: Sequence[PostingList], k: int, mask: Mask | None) -> _Search:
    """Return a search with what is left from each list on."""
    left = [*accumulate(each.bound for each in reversed(lists))][::-1]
    if not isfinite(left[0]) or lists[-1].bound < 0:
        raise damaged("a largest impact is negative or not finite")
    return _Search(lists, [*left, 0.0], k, mask)


def _postings(lists: Sequence[PostingList]) -> int:
    """Return how many postings some lists have together."""
    return sum(len(each.documents) for each in lists)


def _is_short(lists: Sequence[PostingList], k: int) -> bool:
    """Return whether adding all lists up takes less time than what it takes to prune.

    To prune, documents are looked up in all lists, for a first threshold and for exact scores.
    """
    return _BISECTION * (len(lists) + 2) * (_STARTING + 3 * k) > _postings(lists)


def _seed(search: _Search) -> float:
    """Return a first threshold, of some documents in the lists with the largest bounds."""
    lists, _, k, mask = search
    most, kept, some, count = max(_SEEDS, 2 * k), max(_KEPT, 2 * k), [], 0
    for each in lists:
        documents = each.documents[: most - count]
        some.append(documents if mask is None else documents[mask[documents]])
        count += len(documents)
        if count == most:
            break
    documents = distinct(np.concatenate(some))
    scores = np.zeros(len(documents), np.float32)
    for each in lists:
        add_to(scores, each, documents)
        if (half := max(kept, len(scores) // 2)) < len(scores):
            best = np.argpartition(scores, len(scores) - half)[-half:]
            best.sort()
            documents, scores = documents[best], scores[best]
    return _kth(scores, k)


def _is_quick(search: _Search, least: float, size: int) -> bool:
    """Return whether looking documents up takes less time than adding lists up."""
    lists, left = search.lists, search.left
    first = _essential(left, least)
    most = size * _SUM + _postings(lists[: first + 1])
    counts = (
        int(np.count_nonzero(_promising(each, least, after)))
        for each, after in zip(lists[:first], left[1:], strict=False)
    )
    # After each list, all documents so far are looked up in the next one.
    return all(_BISECTION * work < most for work in accumulate(accumulate(counts)))


def _promising(
    current: PostingList, least: float, after: float, mask: Mask | None = None
) -> NDArray[np.bool_]:
    """Return which documents of a list could reach a threshold without any list before it.

    Args:
        current: the list.
        least: the threshold.
        after: the sum of the bounds of the lists after it.
        mask: whether each document may be returned; None allows all.
    """
    needed = (least * (1 - _HAIR) - after) / max(float(current.weight), NOTHING)
    if not needed > 0:
        documents = current.documents
        return np.ones(len(documents), np.bool_) if mask is None else mask[documents]
    found: NDArray[np.bool_] = (
        current.impacts >= min(int(needed), 255)
        if current.impacts.dtype == np.uint8
        else current.impacts >= np.float32(needed)  # in which float16 is compared exactly
    )
    if mask is not None:
        places = np.flatnonzero(found)
        found[places] = mask[current.documents[places]]
    return found


def _look_up(
    search: _Search,
    least: float,
    documents: Numbers,
    scores: NDArray[np.float32] | None = None,
    *,
    joined: bool,
) -> Scored:
    """Return the scores of documents that may be among the best, which are bisected for.

    Args:
        search: the lists that are left.
        least: the threshold.
        documents: ascending.
        scores: those of the documents so far; None for 0.
        joined: whether documents of the lists that can reach the threshold join them.
    """
    lists, left, k, mask = search
    scores = np.zeros(len(documents), np.float32) if scores is None else scores
    for at, each in enumerate(lists):
        there = add_to(scores, each, documents)
        if joined and left[at] >= least * (1 - _HAIR):
            promising = _promising(each, least, left[at + 1], mask)
            promising[there] = False
            joining = np.flatnonzero(promising)
            joins = each.documents[joining], _products(each, joining)
            documents, scores = _joined([(documents, scores), joins])
            if at:
                order = np.argsort(documents, kind="stable")  # merges two that ascend
                documents, scores = documents[order], scores[order]
        least = max(least, _kth(scores, k))
        documents, scores = _reaching(least, left[at + 1], documents, scores)
    return documents, scores


def _add_all(search: _Search, size: int, sums: NDArray[np.float32]) -> Scored:
    """Return the scores of documents of which the k best are some, after adding up all lists."""
    lists, left, k, mask = search
    begins, cuts = _cuts(lists, size)
    best: list[Scored] = []
    least = 0.0
    for at, (begin, end) in enumerate(pairwise(begins)):
        part = sums[: end - begin]
        part.fill(0)
        parts = [slice(cut[at], cut[at + 1]) for cut in cuts]
        spots = [_add(part, *each, begin) for each in zip(lists, parts, strict=True)]
        if not at:
            some = next((each for each in spots if len(each) >= 4 * k), spots[0])
            least = _kth(part.take(some if mask is None else some[mask[some]]), k)
        found = np.concatenate(spots[: _essential(left, least)])
        found = distinct(found[np.flatnonzero(_reach(part.take(found), least, 0.0))])
        found = found if mask is None else found[mask[found + begin]]
        best.append((found.astype(np.uint32) + begin, part.take(found)))
        if end < size:
            documents, scores = _joined(best)
            least = max(least, _kth(scores, k))
            best = [_reaching(least, 0.0, documents, scores)]
    return best[0] if len(best) == 1 else _joined(best)


def _add_up(search: _Search, least: float, size: int, sums: NDArray[Any]) -> Numbers:
    """Return documents of which the k best are some, ascending, one range after the other.

    In a range, the first lists are added up, until few documents can reach the threshold. These
    wait to be looked up in the other lists. Sums are whole numbers of units, each impact rounded
    up. They take half the memory of float32, and so half the time to clear.

    Args:
        search: the lists.
        least: the threshold, 0 if there is none.
        size: number of documents in the collection.
        sums: an array to work with, (RANGE,) uint16 or uint32.
    """
    unit = max(search.left[0] / _UNITS, NOTHING)
    lists, left, k, mask = search = search.in_units(unit)
    least /= unit
    begins, cuts = _cuts(lists, size)
    best: Scored = np.empty(0, np.uint32), np.empty(0, np.float32)
    waiting: dict[int, list[Scored]] = {}  # by the list in which they are looked up first
    count, depth = 0, 0  # of those that wait; of lists that are added up
    for at, (begin, end) in enumerate(pairwise(begins)):
        if not depth:
            depth = essential = _essential(left, least)
        part, added, spots = sums[: end - begin], 0, list[NDArray[np.intp]]()
        part.fill(0)
        few = sum(cut[at + 1] - cut[at] for cut in cuts[:essential]) < _GATHERED * len(part)
        while True:
            for each, cut in zip(lists[added:depth], cuts[added:depth], strict=True):
                where = _add(part, each, slice(cut[at], cut[at + 1]), begin)
                if few and len(spots) < essential:  # to keep others would fill the cache
                    spots.append(where)
            added = depth
            some = np.concatenate(spots) if few else None  # which are all documents
            needed = max(least * (1 - _HAIR) - left[depth], 1)
            reaching = (part if some is None else part.take(some)) >= part.dtype.type(needed)
            if depth == len(lists):
                break
            others = cuts[depth][at + 1] - cuts[depth][at]
            if _BISECTION * (int(np.count_nonzero(reaching)) - _FEW) < others:
                break
            depth += 1
        found = np.flatnonzero(reaching)
        found = found if some is None else distinct(some[found])
        found = found if mask is None else found[mask[found + begin]]
        scores = part.take(found).astype(np.float32) - depth
        waiting.setdefault(depth, []).append((found.astype(np.uint32) + begin, scores))
        count += len(found)
        if at in (0, 3, 15) or end == size or count > _WAITING + 4 * k:
            settled = [
                _look_up(search.after(first), least, *_joined(some), joined=False)
                for first, some in waiting.items()
            ]
            best, count, depth = _joined([best, *settled]), 0, 0
            waiting.clear()
            least = max(least, _kth(best[1], k))
            best = _reaching(least, left[-1], *best)
    return np.sort(best[0])


def _cuts(lists: Sequence[PostingList], size: int) -> tuple[list[int], list[list[int]]]:
    """Return where ranges of documents begin, and the postings of each list there; and the ends."""
    if size <= RANGE:
        return [0, size], [[0, len(each.documents)] for each in lists]
    begins = np.arange(0, size, RANGE, dtype=lists[0].documents.dtype)
    cuts = [[*each.documents.searchsorted(begins).tolist(), len(each.documents)] for each in lists]
    return [*begins.tolist(), size], cuts


def _add(sums: NDArray[Any], current: PostingList, part: slice, begin: int) -> NDArray[np.intp]:
    """Add a part of a list to the sums of documents from one on, and return where they are."""
    spots = (current.documents[part] - begin).astype(np.intp)
    added: NDArray[Any] = _products(current, part)
    if sums.dtype != np.float32:
        added = added.astype(sums.dtype)
        added += sums.dtype.type(1)
    np.add.at(sums, spots, added)
    return spots


def _essential(left: Sequence[float], least: float) -> int:
    """Return in how many lists a document may begin that reaches a threshold, at least 1.

    Raises:
        BundleError: a score is larger than all bounds together.
    """
    if least * (1 - _HAIR) > left[0]:
        raise damaged("a stored maximum is not the largest impact of its term")
    return max(1, sum(each >= least * (1 - _HAIR) for each in left[:-1]))


def _reach(scores: NDArray[np.float32], least: float, left: float) -> NDArray[np.bool_]:
    """Return which scores so far can reach a threshold, where so much is left at most.

    NaN of a damaged bundle does, too, so that it is seen.
    """
    needed = least * (1 - _HAIR) - left
    return ~(scores < np.float32(needed if left else max(needed, NOTHING)))


def _reaching(least: float, left: float, documents: Numbers, scores: NDArray[np.float32]) -> Scored:
    """Return the documents that can reach a threshold, and their scores."""
    kept = np.flatnonzero(_reach(scores, least, left))
    return (documents, scores) if len(kept) == len(scores) else (documents[kept], scores[kept])


def _joined(parts: Sequence[Scored]) -> Scored:
    """Return the documents of some parts and their scores, one after the other."""
    return np.concatenate([each for each, _ in parts]), np.concatenate([each for _, each in parts])


def _kth(scores: NDArray[np.float32], k: int) -> float:
    """Return the k-th largest of some scores, 0 if there are fewer.

    Raises:
        BundleError: it is not finite.
    """
    if len(scores) < k:
        return 0.0
    found = float(np.partition(scores, len(scores) - k)[len(scores) - k])
    if not isfinite(found):
        raise damaged("an impact is not finite")
    return found


def add_to(
    scores: NDArray[np.float32], current: PostingList, documents: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Add what a list adds to the scores of some documents, and return the places of its own."""
    if not len(current.documents) or not len(documents):
        return np.empty(0, np.intp)
    # Of the type of the postings, because bisection would copy all of these to another one.
    wanted = documents.astype(current.documents.dtype, copy=False)
    places = current.documents.searchsorted(wanted)
    places[places == len(current.documents)] = 0
    there = np.flatnonzero(current.documents[places] == wanted)
    places = places[there]
    scores[there] += _products(current, places)
    return places


def _products(current: PostingList, part: slice | NDArray[np.intp]) -> NDArray[np.float32]:
    """Return what some postings add to scores."""
    return np.multiply(current.impacts[part], current.weight, dtype=np.float32)
