"""What is read of documents by a network over words: its row of each word, and how far it reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.document_encoding import warn_of_long_documents
from ranklet.corpus.building.indexer import IndexJob
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.text.analysis import Vocabulary


def term_rows(spellings: Sequence[str], vocabulary: Vocabulary, field: str) -> NDArray[np.int32]:
    """Return the row of each word form, `UNKNOWN` if it is not a term, (forms,) int32.

    A class of words that is no term itself, such as a stem, has the row of the first term among
    its words, because networks of others know words and no stems.

    Args:
        spellings: spellings of the terms, frequent ones first; term i has the row `FIRST` + i.
        vocabulary: the collection's vocabulary.
        field: what the network reads, words or lemmas, which are classes of words.
    """
    rows = np.full(len(vocabulary), UNKNOWN, np.int32)
    forms = np.array([vocabulary.forms.find(spelling) for spelling in spellings], np.int64)
    of_classes = np.full(len(forms), -1, np.int64)
    if field == "lemmas":
        of_classes = np.where(forms >= 0, vocabulary.lemma_of[forms], -1)
        for term in np.flatnonzero(forms < 0).tolist():
            of_classes[term] = vocabulary.forms.find(vocabulary.lemma(spellings[term]))
    for ids in (of_classes, forms):  # the second takes precedence
        terms = np.flatnonzero(ids >= 0)[::-1]  # so that the first of a class is written last
        rows[ids[terms]] = terms + FIRST
    return rows


def count_truncated(job: IndexJob) -> int:
    """Return how many documents are longer than the model reads, and warn if there are any."""
    settings: TermSettings = job.settings
    lengths, limit = np.diff(job.analysed.offsets(settings.field)), settings.max_document_terms
    truncated = int((lengths > limit).sum())
    warn_of_long_documents(job.name, truncated, job.analysed, limit, "terms")
    return truncated
