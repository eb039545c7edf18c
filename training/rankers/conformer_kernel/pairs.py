"""What a Conformer-Kernel learns from: for each query a relevant document and three others.

Source: Mitra et al. 2020 (paper 002), §4: one document of a traditional ranker's best 100, two of
the whole collection.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.losses import ranknet_loss
from ranklet.training.rankers.conformer_kernel.network import Pairs
from ranklet.training.rankers.conformer_kernel.options import TermOptions
from ranklet.training.sampling.batches import batches, draw, draw_several
from ranklet.training.sampling.negatives import (
    Numbers,
    bm25_negatives,
    random_pools,
    relevant_numbers,
)
from ranklet.training.sampling.ragged import first_tokens, packed, padded

NO_TOKEN, NO_TERM = -1, -2  # padding of documents and of queries, which must not match
# Batches are padded to these, so that they come in few shapes; see `ragged.rounded`.
QUERY_MULTIPLE, DOCUMENT_MULTIPLE = 4, 32
DEV_QUERIES, DEV_CANDIDATES = 100, 20  # 2,000 pairs: 15 s of the paper's sizes on a core
SCORED = 8  # documents at a time, outside of training


class Batch(NamedTuple):
    """Queries, and documents of each: a relevant one, one of BM25's, random ones."""

    queries: Numbers  # among those of `TermPairs`, (batch,)
    documents: Numbers  # (batch, 2 + random)


def weak_ranknet_loss(scores: Tensor) -> Tensor:
    """Return RankNet's loss over the pairs of paper 002, §4, the weak ones included.

    The relevant document is to be above all others, and BM25's above the random ones.

    Args:
        scores: of each query's documents in the order of `Batch`, (batch, 2 + random) float32.
    """
    relevant, bm25, drawn = scores[:, :1], scores[:, 1:2], scores[:, 2:]
    better = torch.cat([relevant, relevant.expand_as(drawn), bm25.expand_as(drawn)], 1)
    return ranknet_loss(better, torch.cat([bm25, drawn, drawn], 1))


class TermReader:
    """Documents and queries of a collection as a network's inputs.

    Args:
        analysed: the collection, with the settings' field.
        settings: field and limits.
        rows: the network's row of each token, (tokens,) int32.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        settings: TermSettings,
        rows: NDArray[np.int32],
    ) -> None:
        self._analysed, self._settings, self._rows = analysed, settings, rows
        field = settings.field
        self._offsets, self._tokens = first_tokens(
            analysed.offsets(field), analysed.tokens(field), settings.max_document_terms
        )
        df = np.diff(analysed.postings(field).offsets)
        self._idf = idf(df, len(analysed.documents))
        self._rarest = idf(np.zeros(1), len(analysed.documents))[0]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Terms of each document, those past the limit left out."""
        return np.diff(self._offsets)

    def asked(self, text: str) -> NDArray[np.int64]:
        """Return the tokens of a query, cut at the limit."""
        found = self._analysed.analyzer.begin().tokens(text, self._settings.field)
        return found[: self._settings.max_query_terms].astype(np.int64)

    def pairs(self, queries: Sequence[NDArray[np.int64]], documents: Numbers) -> Pairs:
        """Return the inputs of some pairs.

        Args:
            queries: tokens of each query.
            documents: numbers of documents of each query, (queries, documents).
        """
        each = documents.shape[1]
        every = np.arange(len(queries))
        asked = padded(*packed(queries), every, NO_TERM, QUERY_MULTIPLE).repeat(each, axis=0)
        numbers = documents.ravel()
        held = padded(self._offsets, self._tokens, numbers, NO_TOKEN, DOCUMENT_MULTIPLE)
        tf = np.stack([(held == term[:, None]).sum(1) for term in asked.T], axis=1)
        known = (asked >= 0) & (asked < len(self._idf))
        return Pairs(
            torch.from_numpy(self._rowed(asked, NO_TERM)),
            torch.from_numpy(self._rowed(held, NO_TOKEN)),
            torch.from_numpy(tf.astype(np.float32)),
            torch.from_numpy(np.where(known, self._idf[np.where(known, asked, 0)], self._rarest)),
            torch.from_numpy(self.lengths[numbers].astype(np.float32)),
        )

    def _rowed(self, tokens: NDArray[np.integer], padding: int) -> NDArray[np.int64]:
        known = (tokens >= 0) & (tokens < len(self._rows))
        found = np.where(known, self._rows[np.where(known, tokens, 0)], UNKNOWN).astype(np.int64)
        return np.where(tokens == padding, PADDING, found)


class TermPairs:
    """The batches of every epoch.

    Args:
        analysed: the collection.
        queries: judged ones; those without a term are left out.
        retriever: BM25.
        reader: of the collection.
        options: which documents, and the seed of all draws.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        reader: TermReader,
        options: TermOptions,
    ) -> None:
        worded = [query for query in queries if len(reader.asked(query.text))]
        kept, self._relevant = relevant_numbers(list(analysed.documents.ids), worded)
        seed = options.seed
        self._options, self._reader = options, reader
        self._ranked = bm25_negatives(
            analysed, kept, self._relevant, retriever,
            depth=options.depth, count=options.pool, seed=seed,
        )  # fmt: skip
        self._random = random_pools(len(analysed.documents), self._relevant, seed=seed)
        self._queries = [reader.asked(query.text) for query in kept]

    def batches(self, epoch: int) -> list[Batch]:
        """Return the batches of an epoch: each query once, documents of like length together."""
        options, seed = self._options, self._options.seed
        documents = np.column_stack(
            [
                draw(self._relevant, seed, epoch, stream=0),
                draw(self._ranked, seed, epoch, stream=1),
                draw_several(self._random, options.random_each, seed, epoch),
            ]
        )
        longest = self._reader.lengths[documents].max(1)
        cut = batches(longest, options.batch, seed, epoch)
        return [Batch(each, documents[each]) for each in cut]

    def pairs(self, batch: Batch) -> Pairs:
        """Return the pairs of a batch, query by query."""
        return self._reader.pairs([self._queries[at] for at in batch.queries], batch.documents)
