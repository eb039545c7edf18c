"""Which of the ranked documents come back: a page of them, those above a score, some per group."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.arguments import as_list, check_whole, within
from ranklet.runtime.errors import InputError
from ranklet.runtime.frozen import frozen
from ranklet.runtime.options import check_one_of

if TYPE_CHECKING:
    from ranklet.runtime.metadata.columns import Metadata
    from ranklet.runtime.metadata.facets import Facet
    from ranklet.runtime.metadata.sorting import Key

POOL = 100  # hits whose order diversity changes; a fixed number, so that pages follow each other
NEIGHBOURS, SECTION = "neighbours", "section"
MAX_IDS = 10_000  # that are pinned, or hidden; each is looked up


@frozen
class Selection:
    """Which of the ranked documents come back.

    Attributes:
        k: maximum number of documents, or of groups.
        offset: the number of best documents, or groups, to leave out.
        min_score: documents with a lower score are left out; None leaves none out.
        group_by: a field of the metadata; documents with the same value are one group, and one
            without a value is a group of its own. None makes no groups.
        group_size: maximum number of documents of a group.
        pin: ids of documents that come first, in this order, whether they match or not. Each counts
            as a group.
        hide: ids of documents that are left out.
        facets: what is counted of all documents that match; None counts nothing.
        sort: what orders all documents that match, instead of their scores alone.
        unique: whether near duplicates of better documents are left out.
        diversity: how much documents should differ from better ones, from 0 to 1; None for 0.
        relevance: whether hits say how likely they answer the query.
        min_relevance: hits that are less likely are left out; None leaves none out.
        passages: how many passages of its document a hit has, the best ones; None for its own.
        context: what is around them, `NEIGHBOURS` or `SECTION`; None for nothing.

    Raises:
        InputError: a number or an id cannot be used.
    """

    _: KW_ONLY
    k: int
    offset: int = 0
    min_score: float | None = None
    group_by: str | None = None
    group_size: int = 1
    pin: Sequence[str] = ()
    hide: Sequence[str] = ()
    facets: "tuple[Facet, ...] | None" = None
    sort: "tuple[Key, ...]" = ()
    unique: bool = False
    diversity: float | None = None
    relevance: bool = False
    min_relevance: float | None = None
    passages: int | None = None
    context: str | None = None

    def __post_init__(self) -> None:
        """Check every number and id."""
        for name in ("pin", "hide"):
            if (given := getattr(self, name)) != ():
                object.__setattr__(self, name, _ids(name, () if given is None else given))
        if both := set(self.pin) & set(self.hide):
            raise InputError(
                f"{min(both)[:80]!r} is pinned and hidden; leave it out of pin or hide"
            )
        if self.diversity is not None and not within(self.diversity, 0, 1):
            raise InputError(f"diversity must be a number from 0 to 1, not {self.diversity!r:.60}")
        if self.sort and self.rated:
            raise InputError(
                "sort orders all documents that match, and only a pipeline's candidates have a "
                "relevance; leave one of them out"
            )
        if self.diversity and self.sort:
            raise InputError("sort and diversity both order the hits; leave one of them out")
        check_whole("k", self.k, 0)
        check_whole("offset", self.offset, 0)
        check_whole("group_size", self.group_size, 1)
        least = self.min_score
        if least is not None and not within(least, -float_info.max, float_info.max):
            raise InputError(f"min_score must be a number, or None for no limit, not {least!r:.60}")
        likely = self.min_relevance
        if likely is not None and not within(likely, 0, 1):
            raise InputError(f"min_relevance must be from 0 to 1, or None, not {likely!r:.60}")
        if self.passages is not None:
            check_whole("passages", self.passages, 1)
        if self.context is not None:
            check_one_of("context", self.context, (NEIGHBOURS, SECTION))
        if self.group_by is None and self.group_size != 1:
            raise InputError("group_size says how many hits of a group come back; pass group_by")

    @property
    def counts(self) -> bool:
        """Whether all documents that match must be found, and not only the best."""
        return self.facets is not None or bool(self.sort)

    @property
    def widened(self) -> bool:
        """Whether hits have more than their own passage."""
        return self.passages is not None or self.context is not None

    @property
    def rated(self) -> bool:
        """Whether it must be known how likely hits answer the query."""
        return self.relevance or self.min_relevance is not None

    @property
    def reach(self) -> int:
        """How many documents, or groups, must be known."""
        return int(self.offset) + int(self.k)

    def without_hits(self) -> "Selection":
        """Return what is only counted."""
        return Selection(k=0, min_score=self.min_score, facets=self.facets, relevance=self.rated)

    @property
    def reorders(self) -> bool:
        """Whether more than the first documents decides what comes back."""
        return self.group_by is not None or self.unique or bool(self.diversity)

    def chosen(
        self, scores: NDArray[np.float32], groups: NDArray[np.intp] | None
    ) -> NDArray[np.intp]:
        """Return the places of the documents that come back, best first.

        >>> scores = np.array([5, 4, 3, 2, 1], np.float32)
        >>> Selection(k=2, offset=1, min_score=2.5).chosen(scores, None).tolist()
        [1, 2]
        >>> Selection(k=2, group_by="x").chosen(scores, np.array([7, 7, 8, 7, 9])).tolist()
        [0, 2]

        Args:
            scores: the scores of all ranked documents, best first, (documents,).
            groups: the number of each one's group, (documents,); None without groups.
        """
        count = self.above(scores)
        if groups is None:
            return np.arange(count)[self.offset : self.reach]
        rank, earlier = _in_groups(groups[:count])
        kept = (rank >= self.offset) & (rank < self.reach) & (earlier < self.group_size)
        return np.flatnonzero(kept)

    def above(self, scores: NDArray[np.float32]) -> int:
        """Return how many documents reach the minimum score."""
        if self.min_score is None:
            return len(scores)
        return int(np.count_nonzero(scores.astype(np.float64) >= self.min_score))


def _ids(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return ids, each once.

    Raises:
        InputError: they are no list, or one is no string, or they are too many.
    """
    found = as_list(values, name, "put the one id in a list")
    if wrong := [each for each in found if not isinstance(each, str)]:
        raise InputError(f"{name} has {wrong[0]!r:.60}; ids are strings, such as '7'")
    if len(found) > MAX_IDS:
        raise InputError(f"{name} has {len(found):,} ids; at most {MAX_IDS:,} are allowed")
    return tuple(dict.fromkeys(found))


def _in_groups(groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rank of each document's group, and how many of its group come before it.

    Groups are ranked by their first documents.
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    rank_of = np.empty(len(first), np.intp)
    rank_of[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(group, kind="stable")  # group by group, best first within each
    begins = np.cumsum(np.bincount(group, minlength=len(first))) - np.bincount(
        group, minlength=len(first)
    )
    earlier = np.empty(len(group), np.intp)
    earlier[order] = np.arange(len(group)) - begins[group[order]]
    return rank_of[group], earlier


def check_own(**using: object) -> None:
    """Raise InputError if the caller's own documents are ranked by what uses metadata.

    Args:
        using: values of the arguments that use metadata, by name; None for one that is not given.
    """
    if any(value is not None for value in using.values()):
        *some, last = using
        raise InputError(
            f"{', '.join(some)} and {last} use metadata, which texts of your own do not have; "
            "leave them out, or leave out documents"
        )


def check_group_by(name: object, types: Mapping[str, str]) -> None:
    """Raise InputError unless documents can be grouped by a field of the metadata."""
    from ranklet.runtime.metadata.where import check_single

    check_single("group_by", name, types, "would belong to several groups", "group")


def groups_of(name: str, numbers: NDArray[np.uint32], metadata: "Metadata") -> NDArray[np.intp]:
    """Return the number of each document's group, (documents,); equal values make a group.

    A document without a value is a group of its own.

    Args:
        name: a field that `check_group_by` allows.
        numbers: the documents' numbers, (documents,).
        metadata: the columns.
    """
    from ranklet.runtime.metadata.columns import Ordered  # few calls group

    column = metadata.column(name)
    if not isinstance(column, Ordered):  # unreachable after the check
        raise InputError(f"group_by: {name!r} has no single values")
    _, groups = np.unique(column.keys[numbers], return_inverse=True)
    if column.missing is not None:
        alone = np.flatnonzero(column.missing[numbers])
        groups[alone] = len(numbers) + np.arange(len(alone))
    return groups
