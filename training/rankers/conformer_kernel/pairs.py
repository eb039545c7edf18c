"""The documents that a Conformer-Kernel is trained on: per query a relevant one and three others.

One of the others is from BM25's best 100 and two are from the whole collection (Mitra et al., §4).
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.ragged import first_tokens, packed, padded
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings, rarity
from ranklet.training.distilling.taught import TaughtQueries
from ranklet.training.learning.losses import ranknet_loss
from ranklet.training.rankers.conformer_kernel.network import Pairs
from ranklet.training.rankers.conformer_kernel.options import TermOptions
from ranklet.training.sampling.batches import (
    Batch,
    draw,
    draw_documents,
    draw_several,
    query_batches,
)
from ranklet.training.sampling.negatives import (
    Numbers,
    bm25_negatives,
    random_pools,
    relevant_numbers,
)

NO_TOKEN, NO_TERM = -1, -2  # padding of documents and of queries, which must differ
# Lengths are padded to multiples of these, so that there are few shapes; see `ragged.rounded`.
QUERY_MULTIPLE, DOCUMENT_MULTIPLE = 4, 32
SCORED = 8  # documents per batch outside of training


def weak_ranknet_loss(scores: Tensor) -> Tensor:
    """Return RankNet's loss over the pairs of Mitra et al., §4, including weakly labelled ones.

    The relevant document should score above all others, and BM25's above the random ones.

    Args:
        scores: the scores of the relevant document, BM25's and the random ones, (batch, 2 + random)
            float32.
    """
    relevant, bm25, drawn = scores[:, :1], scores[:, 1:2], scores[:, 2:]
    better = torch.cat([relevant, relevant.expand_as(drawn), bm25.expand_as(drawn)], 1)
    return ranknet_loss(better, torch.cat([bm25, drawn, drawn], 1))


class TermReader:
    """Make a network's inputs from queries and documents of a collection.

    `rows` are the rows of the embeddings of each token, (tokens,) int32.
    """

    def __init__(
        self, analysed: AnalysedCollection, settings: TermSettings, rows: NDArray[np.int32]
    ) -> None:
        self._analysed, self._settings, self._rows = analysed, settings, rows
        field = settings.field
        self._offsets, self._tokens = first_tokens(
            analysed.offsets(field), analysed.tokens(field), settings.max_document_terms
        )
        df = np.diff(analysed.postings(field).offsets)
        self._idf = rarity(df, len(analysed.documents))
        self._rarest = rarity(np.zeros(1), len(analysed.documents))[0]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of terms of each document up to the limit, (documents,) int64."""
        return np.diff(self._offsets)

    def query_terms(self, text: str) -> NDArray[np.int64]:
        """Return the terms of a query, cut at the limit."""
        terms = self._analysed.analyzer.begin().asked(text, self._settings.field)
        return terms[: self._settings.max_query_terms].astype(np.int64)

    def with_terms(self, queries: Sequence[JudgedQuery]) -> list[JudgedQuery]:
        """Return the queries that have a term."""
        return [query for query in queries if len(self.query_terms(query.text))]

    def pairs(self, queries: Sequence[NDArray[np.int64]], documents: Numbers) -> Pairs:
        """Return the inputs of queries, as terms, and their documents, (queries, documents)."""
        rows = np.arange(len(queries)).repeat(documents.shape[1])
        terms = padded(*packed(queries), rows, NO_TERM, QUERY_MULTIPLE)
        numbers = documents.ravel()
        tokens = padded(self._offsets, self._tokens, numbers, NO_TOKEN, DOCUMENT_MULTIPLE)
        tf = np.stack([(tokens == term[:, None]).sum(1) for term in terms.T], axis=1)
        known = (terms >= 0) & (terms < len(self._idf))
        return Pairs(
            torch.from_numpy(self._rows_of(terms, NO_TERM)),
            torch.from_numpy(self._rows_of(tokens, NO_TOKEN)),
            torch.from_numpy(tf.astype(np.float32)),
            torch.from_numpy(np.where(known, self._idf[np.where(known, terms, 0)], self._rarest)),
            torch.from_numpy(self.lengths[numbers].astype(np.float32)),
        )

    def _rows_of(self, tokens: NDArray[np.integer], padding: int) -> NDArray[np.int64]:
        """Return the rows of the embeddings of some tokens."""
        known = (tokens >= 0) & (tokens < len(self._rows))
        rows = np.where(known, self._rows[np.where(known, tokens, 0)], UNKNOWN).astype(np.int64)
        return np.where(tokens == padding, PADDING, rows)


class TermPairs:
    """The batches of every epoch, without the queries that have no terms.

    Taught queries replace the others, and all of their documents come from the scored ones.

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
        taught_queries: TaughtQueries | None,
    ) -> None:
        seed = options.seed
        self._options, self._reader = options, reader
        self._random: list[Numbers] = []
        if taught_queries is not None:
            usable, self._relevant, self._ranked = taught_queries.pools
        else:
            usable, self._relevant = relevant_numbers(
                list(analysed.documents.ids), reader.with_terms(queries)
            )
            self._ranked = bm25_negatives(
                analysed, usable, self._relevant, retriever,
                depth=options.depth, count=options.pool, seed=seed,
            )  # fmt: skip
            self._random = random_pools(len(analysed.documents), self._relevant, seed=seed)
        self._queries = [reader.query_terms(query.text) for query in usable]

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches: each query once, documents of similar length together."""
        options, seed = self._options, self._options.seed
        if self._random:
            documents = np.column_stack(
                [
                    draw(self._relevant, seed, epoch, stream=0),
                    draw(self._ranked, seed, epoch, stream=1),
                    draw_several(self._random, options.random_each, seed, epoch),
                ]
            )
        else:
            others = 1 + options.random_each
            documents = draw_documents(self._relevant, self._ranked, others, seed, epoch)
        longest = self._reader.lengths[documents].max(1)
        return query_batches(documents, longest, options.batch, seed, epoch)

    def pairs(self, batch: Batch) -> Pairs:
        """Return the inputs of a batch, query by query."""
        return self._reader.pairs([self._queries[at] for at in batch.queries], batch.documents)
