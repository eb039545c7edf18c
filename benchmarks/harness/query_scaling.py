"""Scale a query's scores as a linear fusion with the scaling `variance` does when it serves."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.execution.fusion import scaling_of


def of_unit_variance(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores of one query, (candidates, systems), of which each column has unit variance.

    A column without any difference stays as it is.
    """
    columns = [scaling_of("variance", column, 1.0).apply(column) for column in scores.T]
    return np.stack(columns, 1).astype(np.float32)
