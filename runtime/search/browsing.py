"""Browse a collection, whose documents all match where nothing is asked."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import Ask
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import AT_ONCE, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation

EVERYTHING = "collection order"  # no name of a ranker has a space
_OF_QUERIES = ("relevance", "min_relevance", "diversity")


def browse(pipeline: Pipeline, ask: Ask, documents: int) -> Pipeline:
    """Return what ranks documents for an empty query, which is only the boost of a pipeline.

    Args:
        pipeline: what a query would be ranked by.
        ask: the options.
        documents: how many there are, where each passage counts as one.

    Raises:
        InputError: an option compares hits with the query.
    """
    if wrong := [name for name in _OF_QUERIES if getattr(ask, name)]:
        raise InputError(f"{wrong[0]} compares hits with a query, and the query is empty; leave it")
    boost = () if pipeline.boost is None else (pipeline.boost,)
    return Pipeline((Retrieve(EVERYTHING, documents + 1), *boost))


class Everything(Retriever):
    """Gives every document the score 0, so that they remain in the collection's order."""

    slice_size = AT_ONCE
    nested = True

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the first k documents, each by its first passage; see `Retriever`."""
        mask = self.matching(query)
        numbers = np.flatnonzero(mask if allowed is None else mask & allowed)[:k]
        return Retrieved(numbers.astype(np.uint32), np.zeros(len(numbers), np.float32))

    def matching(self, query: QueryContext) -> NDArray[np.bool_]:  # noqa: ARG002
        """Return the first passage of each document, (documents,) bool."""
        begins = self._documents.begins
        mask = np.full(len(self._documents), begins is None)
        mask[slice(0) if begins is None else begins] = True
        return mask

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:  # noqa: ARG002
        """Return 0 for each candidate."""
        return Scores(np.zeros(len(candidates), np.float32))

    def scale(self, query: QueryContext) -> float:  # noqa: ARG002
        """Return 1, so that metadata add their own amounts."""
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> "Explanation":  # noqa: ARG002
        """Say that there is no query."""
        from ranklet.runtime.answers.explanation import Explanation

        return Explanation("the query is empty, so documents are in the collection's order", 0.0)

    def verify(self) -> None:
        """Check nothing, because it has no numbers of its own."""
