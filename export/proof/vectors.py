"""Score texts by their vectors, and remember the vectors, which are compared with PyTorch's."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import Report, with_cosines
from ranklet.runtime.onnx.session import Runs

# Vectors of queries and of documents, (texts, dimension) float32 each.
Vectors = tuple[NDArray[np.float32], NDArray[np.float32]]


class VectorScore:
    """Scores every document for every query by the inner product of their vectors.

    Args:
        encode: returns the vectors that sessions make of texts.

    Attributes:
        first: the vectors of the first texts, which are PyTorch's of all probes.
    """

    first: Vectors

    def __init__(self, encode: Callable[[Sequence[Runs], Probes], Vectors]) -> None:
        self.encode = encode
        self._texts: Probes | None = None

    def __call__(self, sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        """Return the scores, (queries, documents) float32."""
        queries, documents = made = self.encode(sessions, texts)
        if self._texts is None:
            self.first, self._texts = made, texts
        if texts == self._texts:
            self._last = made
        return queries @ documents.T

    def with_cosines(self, report: Report) -> Report:
        """Return the report of whoever scored all probes last, with its vectors' cosines."""
        return with_cosines(report, np.concatenate(self.first), np.concatenate(self._last))
