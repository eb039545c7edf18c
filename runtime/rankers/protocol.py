"""What every ranker can do at serving time, whatever its kind."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.text.analysis import Analyzer

AT_ONCE = 4096  # candidates of a cheap ranker, a millisecond or two


class Scores(NamedTuple):
    """The scores of some candidates, and which texts the ranker's model truncated for them."""

    values: NDArray[np.float32]  # one per candidate, (n,)
    truncated: Sequence[int] = ()  # places of the candidates that are longer than the model reads
    query_truncated: bool = False


class Retrieved(NamedTuple):
    """Documents of the collection, best first."""

    numbers: NDArray[np.uint32]  # of the documents, (k,)
    scores: NDArray[np.float32]  # (k,)
    query_truncated: bool = False


class Ranker(ABC):
    """One exported ranker of a bundle; immutable, shared by all threads.

    Attributes:
        slice_size: candidates that it scores at once at first where time is limited; `AT_ONCE`
            where a whole list costs no more than looking at the clock is worth.
        encodes_queries: whether `encode_query` runs a model, which can be done in advance.
        analyzer: cuts texts into its own word pieces, by which explanations name them; None if
            they are those of the bundle.
    """

    slice_size: int = FIRST_SLICE
    encodes_queries: bool = False
    analyzer: Analyzer | None = None

    @property
    def provider(self) -> str:
        """What its model runs on; empty if it has none."""
        return ""

    def first_slice(self, *, texts: bool) -> int:  # noqa: ARG002
        """Return `slice_size` of stored candidates, or of the caller's texts."""
        return self.slice_size

    def encode_query(self, query: QueryContext) -> object:  # noqa: ARG002
        """Run the model on the query alone; the result is kept with the query."""
        return None

    @abstractmethod
    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate, the same alone and among others."""

    @abstractmethod
    def scale(self, query: QueryContext) -> float:
        """Return what scores are multiplied by before a linear fusion."""

    @abstractmethod
    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain the score that a single candidate gets; the parts add up to it."""

    @abstractmethod
    def verify(self) -> None:
        """Check every number of the ranker; BundleError names the first that is wrong."""


class Retriever(Ranker):
    """A ranker with an index of its own."""

    @abstractmethod
    def retrieve(self, query: QueryContext, k: int) -> Retrieved:
        """Return the k best documents of the whole collection."""

    def explain_retrieved(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain the score that a document was retrieved with, if the index scores otherwise."""
        return self.explain(query, candidate)
