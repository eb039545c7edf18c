"""Find all documents that match a query, to count and to sort them.

A document matches if a retriever by words gives it a score above 0, or if it is in the list of one
by vectors, which can compare a query with any document. Of a pipeline with both, the documents of
both match. Filters, deleted documents and the syntax of the query count as in a ranking.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.query import Phrases
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve

# By ranker that retrieves, the documents with a score above 0; None if it has only a list.
MatchMasks = Mapping[str, Mask | None]


class Matches(NamedTuple):
    """The documents that match a query."""

    numbers: NDArray[np.uint32]  # of documents or passages, ascending
    exact: bool  # whether no retriever has only a list
    unread: int  # documents that are left out, because there was no time to read phrases


def by_words(masks: MatchMasks) -> bool:
    """Return whether no retriever has only a list."""
    return all(mask is not None for mask in masks.values())


def matches(
    masks: MatchMasks,
    lists: Mapping[str, NDArray[np.uint32]],
    pipeline: Pipeline,
    allowed: Mask | None,
    phrases: Phrases | None,
    size: int,
) -> Matches:
    """Return all documents that match a query.

    Args:
        masks: the documents that match by words.
        lists: the documents that each ranker has retrieved, best first.
        pipeline: how they were retrieved; longer lists are cut, so that pages agree.
        allowed: the documents that filters and the query allow, (documents,) bool; None for all.
        phrases: finds out which of them have the phrases of the query; None if all have.
        size: the number of documents, where each passage counts as one.
    """
    found = np.zeros(size, np.bool_)
    for stage in pipeline.stages:
        if isinstance(stage, Retrieve):
            mask = masks[stage.ranker]
            if mask is not None:
                found |= mask
            elif stage.ranker in lists:  # otherwise there was no time for it
                found[lists[stage.ranker][: stage.k]] = True
    numbers = np.flatnonzero(found if allowed is None else found & allowed).astype(np.uint32)
    exact, unread = by_words(masks), 0
    if phrases is not None:
        fits = phrases.fitting(numbers)
        numbers, unread = numbers[: len(fits)][fits], len(numbers) - len(fits)
    return Matches(numbers, exact and not unread, unread)
