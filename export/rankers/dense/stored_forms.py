"""What each stored form of documents' vectors costs, against vectors in 32 bits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.export.proof.report import STORED, Report, compare_scores
from ranklet.runtime.dense.stored import FORMS, WHOLE, StoredVectors


def form_reports(
    queries: NDArray[np.float32], documents: NDArray[np.float32], relevant: Sequence[Sequence[int]]
) -> list[Report]:
    """Return how each stored form ranks the probes, next to vectors in 32 bits.

    Args:
        queries: PyTorch's vectors of the queries, (queries, dimension).
        documents: PyTorch's vectors of the documents, (documents, dimension).
        relevant: indices of the relevant documents of each query.
    """
    reference = queries @ documents.T
    reports = []
    for form in FORMS:
        if form != WHOLE:
            stored = StoredVectors.of(documents, form)
            scores = queries @ stored.floats(slice(None)).T
            size = round(stored.nbytes / max(1, len(stored)))
            reports.append(compare_scores(f"{STORED}{form}", size, reference, scores, relevant))
    return reports
