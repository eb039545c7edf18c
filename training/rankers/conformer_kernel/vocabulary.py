"""Choose the words that a network over words knows, and their rows in its embeddings."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection


def choose_terms(
    analysed: AnalysedCollection,
    field: str,
    queries: Sequence[JudgedQuery],
    *,
    least: int,
    most: int,
) -> tuple[str, ...]:
    """Return the spellings of the most frequent terms of documents and queries, frequent first.

    Args:
        analysed: the collection.
        field: words or lemmas.
        queries: queries that the network learns from. A word that no document has counts if the
            collection was analysed with it.
        least: minimum occurrences of a term in documents and queries.
        most: maximum number of terms.
    """
    counts = analysed.frequencies(field)
    in_queries: Counter[int] = Counter()
    for query in queries:
        in_queries.update(analysed.analyzer.begin().asked(query.text, field).tolist())
    for token, count in in_queries.items():
        if token < len(counts):
            counts[token] += count
    order = np.argsort(-counts, kind="stable")[:most]
    forms = analysed.analyzer.vocabulary.forms
    return tuple(forms[token] for token in order.tolist() if counts[token] >= least)
