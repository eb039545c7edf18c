"""Which words a network over words knows, and the row of its embeddings that each has."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.rankers.conformer_kernel.network import FIRST, UNKNOWN
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection


def choose_terms(
    analysed: AnalysedCollection,
    field: str,
    queries: Sequence[JudgedQuery],
    *,
    least: int,
    most: int,
) -> tuple[str, ...]:
    """Return the spellings of the most frequent terms of documents and queries, in their order.

    Args:
        analysed: the collection.
        field: words or lemmas.
        queries: what is learned from; a word that no document has counts, too, where the collection
            was analysed with it.
        least: occurrences of a term, queries included, at least 1.
        most: terms, at least 1.
    """
    counts = analysed.frequencies(field)
    asked: Counter[int] = Counter()
    for query in queries:
        asked.update(analysed.analyzer.begin().tokens(query.text, field).tolist())
    for token, count in asked.items():
        if token < len(counts):
            counts[token] += count
    order = np.argsort(-counts, kind="stable")[:most]
    forms = analysed.analyzer.vocabulary.forms
    return tuple(forms[token] for token in order.tolist() if counts[token] >= least)


def term_rows(spellings: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the row of each word form, `UNKNOWN` for those that are no term; (forms,) int32.

    Args:
        spellings: of the terms; term i has the row `FIRST` + i.
        vocabulary: of a collection.
    """
    rows = np.full(len(vocabulary), UNKNOWN, np.int32)
    found = np.array([vocabulary.forms.find(each) for each in spellings], np.int64)
    there = np.flatnonzero(found >= 0)
    rows[found[there]] = there + FIRST
    return rows
