"""What an index is searched with: terms with weights, or one vector."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class SparseQuery(NamedTuple):
    """A query's sparse vector."""

    terms: NDArray[np.int32]  # ascending and unique, (terms,)
    weights: NDArray[np.float32]  # > 0, (terms,)

    @classmethod
    def positive(cls, terms: NDArray[np.integer], weights: NDArray[np.float32]) -> Self:
        """Return the vector of the terms, ascending and unique, whose weights are above 0."""
        positive = weights > 0
        return cls(terms[positive].astype(np.int32), weights[positive])


QueryVector = SparseQuery | NDArray[np.float32]  # terms with weights, or (dimension,) float32
