"""What every ranker can do at serving time, whatever its kind."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.topk import Scored

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

AT_ONCE = 4096  # candidates of a cheap ranker, a millisecond or two


class Ranker(Protocol):
    """One exported ranker of a bundle; immutable, shared by all threads.

    Some things may be told beside: `provider`, what its model runs on; `slice_size`, how many
    candidates it scores at once at first where time is limited: 8 if it does not say, `AT_ONCE`
    where a whole list costs no more than a look at the clock is worth; `text_slice_size`, the same
    of the caller's texts where that differs; and `encode_query`, which runs its model on the query
    alone and keeps the result with the query (`QueryContext.once`), so that it can run during the
    first stage.
    """

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "Ranker":
        """Open the ranker of a bundle by its name; reads no more than it must."""
        ...

    def retrieve(self, query: QueryContext, k: int) -> Scored:
        """Return the k best documents of the whole collection.

        Raises:
            InputError: this kind only rescores.
        """
        ...

    def score(self, query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        """Return the score of each candidate, the same alone and among others; (n,) float32."""
        ...

    def scale(self, query: QueryContext) -> float:
        """Return what scores are multiplied by before a linear fusion."""
        ...

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain the score of a single candidate; the parts add up to it."""
        ...

    def verify(self) -> None:
        """Check every number of the ranker; BundleError names the first that is wrong."""
        ...


def first_slice(ranker: Ranker, *, texts: bool) -> int:
    """Return how many stored candidates, or texts, a ranker scores at once at first."""
    stored: int = getattr(ranker, "slice_size", FIRST_SLICE)
    return int(getattr(ranker, "text_slice_size", stored)) if texts else stored
