"""What is read of documents by a network over words: its row of each word, and how far it reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.document_encoding import warn_of_long_documents
from ranklet.corpus.building.indexer import IndexJob
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.text.analysis import Vocabulary


def term_rows(spellings: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the row of each word form, `UNKNOWN` if it is not a term, (forms,) int32.

    Args:
        spellings: spellings of the terms; term i has the row `FIRST` + i.
        vocabulary: the collection's vocabulary.
    """
    rows = np.full(len(vocabulary), UNKNOWN, np.int32)
    forms = np.array([vocabulary.forms.find(spelling) for spelling in spellings], np.int64)
    terms = np.flatnonzero(forms >= 0)  # that the collection has
    rows[forms[terms]] = terms + FIRST
    return rows


def count_truncated(job: IndexJob) -> int:
    """Return how many documents are longer than the model reads, and warn if there are any."""
    settings: TermSettings = job.settings
    lengths, limit = np.diff(job.analysed.offsets(settings.field)), settings.max_document_terms
    truncated = int((lengths > limit).sum())
    warn_of_long_documents(job.name, truncated, job.analysed, limit, "terms")
    return truncated
