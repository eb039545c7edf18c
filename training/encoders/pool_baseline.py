"""Rank a pool by BM25, for comparison with an encoder that ranks it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import QueryContext
from ranklet.training.data.collection import Document
from ranklet.training.encoders.text_pairs import Pool
from ranklet.training.indexing.analysed import analyse
from ranklet.training.learning.options import TextPairOptions
from ranklet.training.sampling.dev_candidates import reciprocal_rank

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def bm25_mrr(
    pool: Pool, documents: Sequence[Document], tokenizer: "Tokenizer", options: TextPairOptions
) -> float:
    """Return MRR@10 of ranking the pool by BM25, whose statistics are those of the pool.

    Args:
        pool: the pool.
        documents: the documents of the collection.
        tokenizer: the tokenizer of a BM25 over word pieces.
        options: the settings of BM25, and whether titles are ranked.
    """
    field = options.bm25.field
    analysed = analyse(
        [documents[number] for number in pool.numbers.tolist()], [field],
        tokenizer=tokenizer, titles=options.titles,
    )  # fmt: skip
    retriever = analysed.bm25(options.bm25)

    def scores(text: str) -> NDArray[np.float32]:
        found = retriever.retrieve(QueryContext(text, analysed.analyzer.begin()), len(pool))
        of_all = np.zeros(len(pool), np.float32)
        of_all[found.numbers] = found.scores
        return of_all

    return float(np.mean(list(map(reciprocal_rank, map(scores, pool.texts), pool.relevant))))
