"""The interface of all rankers at serving time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.query import QueryContext, QueryVector, SparseQuery
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.text.analysis import Analyzer

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundles.files import BundleFiles

Role = Literal["query", "document"]
# Of texts: (texts, dimension) float32, terms with weights, or (tokens, dimension) float32 each.
Vectors = NDArray[np.float32] | Sequence[SparseQuery] | Sequence[NDArray[np.float32]]

AT_ONCE = 4096  # candidates that a cheap ranker scores in one or two milliseconds


class Scores(NamedTuple):
    """The scores of some candidates, and which texts the ranker's model truncated."""

    values: NDArray[np.float32]  # one per candidate, (n,)
    truncated: Sequence[int] = ()  # indices of the candidates that are longer than the model reads
    query_truncated: bool = False


class Retrieved(NamedTuple):
    """Documents of the collection, best first."""

    numbers: NDArray[np.uint32]  # the documents' numbers, (k,)
    scores: NDArray[np.float32]  # (k,)
    query_truncated: bool = False


class TermIndex(Protocol):
    """An index that has the documents of each term, such as an `ImpactIndex`."""

    def fetch(self, terms: NDArray[np.int32], /) -> None:
        """Fetch the documents of some terms at once, if they lie far away."""

    def frequencies(self, terms: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many documents have each term, (terms,) int64."""
        ...

    def postings(self, term: int, /) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return the documents of a term, ascending, and a number for each."""
        ...


class EncodesTexts(ABC):
    """A ranker that turns texts into vectors, whose products are its scores."""

    @abstractmethod
    def encode(self, texts: Sequence[str], role: Role) -> tuple[Vectors, Sequence[int]]:
        """Return the vectors of texts, and the indices of the texts that were truncated."""


class Ranker(ABC):
    """One exported ranker of a bundle; immutable and shared by all threads.

    Attributes:
        slice_size: number of candidates that it scores at first if time is limited; `AT_ONCE` for
            rankers that are so cheap that checking the time is not worth it.
        encodes_queries: whether `encode_query` runs a model, which can be done in advance.
        analyzer: splits texts into the ranker's own word pieces, which its explanations name; None
            if it uses the bundle's.
    """

    slice_size: int = FIRST_SLICE
    encodes_queries: bool = False
    analyzer: Analyzer | None = None

    @property
    def provider(self) -> str:
        """The provider that its model runs on; empty if it has no model."""
        return ""

    def over(self, parts: "Sequence[BundleFiles]") -> "Sequence[Ranker | None]":
        """Return the ranker over each of some parts of a collection, of which its own is the first.

        None stands for a part whose documents it reads as it does the caller's texts.
        """
        return [self, *[None] * len(parts[1:])]

    def first_slice(self, *, texts: bool) -> int:  # noqa: ARG002
        """Return `slice_size` of stored candidates, or of the caller's texts."""
        return self.slice_size

    def encode_query(self, query: QueryContext) -> object:  # noqa: ARG002
        """Run the model on the query alone and store the result in the query."""
        return None

    def postings(self) -> TermIndex:
        """Return the index of a kind that has every term of every document.

        Raises:
            InputError: it is of another kind.
        """
        raise InputError(f"{type(self).__name__} has no index of every term")

    @abstractmethod
    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate, which is independent of the other candidates."""

    @abstractmethod
    def scale(self, query: QueryContext) -> float:
        """Return the factor that a linear fusion multiplies scores by, before its weight."""

    @abstractmethod
    def explain(self, query: QueryContext, candidate: Candidates) -> "Explanation":
        """Explain the score of a single candidate, which is the sum of the parts."""

    @abstractmethod
    def verify(self) -> None:
        """Check every number of the ranker.

        Raises:
            BundleError: the first wrong number.
        """


class Retriever(Ranker):
    """A ranker with an index."""

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return False

    @abstractmethod
    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k best documents of the collection, or of those that a mask allows.

        A mask is applied while searching and not afterwards, so there are k documents if k of the
        allowed ones match, and they are ranked as if only the others had been removed from the
        ranking of all documents.

        Args:
            query: the query.
            k: maximum number of documents.
            allowed: whether each document may be returned, (documents,) bool; passages where
                documents are split. None allows all.

        Raises:
            InputError: the mask has another type or shape.
        """

    def matching(self, query: QueryContext) -> Mask | None:  # noqa: ARG002
        """Return which documents have a score above 0, (documents,) bool, a new array.

        None stands for a retriever that can compare a query with every document, as one by vectors.
        """
        return None

    def query_vector(self, query: QueryContext) -> QueryVector | None:  # noqa: ARG002
        """Return what the index is searched with.

        Terms with weights, or one vector, (dimension,) float32, whose product with a document's own
        is its score; None if a score is no such product.
        """
        return None

    def document_vectors(self) -> Iterator[QueryVector]:
        """Yield the vector of each document, in the form that `query_vector` returns.

        Raises:
            InputError: a score is no product of two vectors.
        """
        raise InputError(f"{type(self).__name__} has no vectors whose products are its scores")

    def read_vectors(self, numbers: NDArray[np.uint32]) -> NDArray[np.float32] | None:  # noqa: ARG002
        """Return stored vectors of some documents, (numbers, dimension); None if it has none."""
        return None

    def explain_retrieved(self, query: QueryContext, candidate: Candidates) -> "Explanation":
        """Explain the score of a retrieved document, which may differ from the score by `score`."""
        return self.explain(query, candidate)
