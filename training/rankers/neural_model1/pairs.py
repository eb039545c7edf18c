"""Pairs that neural Model 1 learns from: a relevant document and another, for a query each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.forward import Forward
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.neural_model1.options import PairOptions
from ranklet.training.sampling.batches import batches, draw_documents
from ranklet.training.sampling.negatives import Numbers, negative_pools, relevant_numbers
from ranklet.training.sampling.ragged import packed, padded, rounded, unique_tokens

# Batches are padded to these, so that they come in few shapes; see `rounded`.
QUERY_TOKENS_MULTIPLE, TOKENS_MULTIPLE = 4, 64


class PairBatch(NamedTuple):
    """Numbers of queries and documents."""

    queries: Numbers  # among those of `Pairs`, (batch,) int64
    documents: Numbers  # a relevant one, then others, (batch, 1 + negatives) int64


class Pairs:
    """The pairs of every epoch, as word pieces.

    Args:
        analysed: the collection.
        queries: judged ones.
        retriever: BM25, which gives the negatives.
        options: which pairs, and the seed of all draws.
        padding: the id of [PAD].

    Raises:
        InputError: no query has a relevant document in the collection, or none has another.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        options: PairOptions,
        padding: int,
    ) -> None:
        kept, self._relevant = relevant_numbers(list(analysed.documents.ids), queries)
        self._others = negative_pools(
            analysed, kept, self._relevant, retriever, options.negatives, seed=options.seed
        )
        self._options, self._padding = options, padding
        asked = [analysed.analyzer.begin().tokens(query.text, "wordpieces") for query in kept]
        cut = [tokens[: options.max_query_tokens].astype(np.int64) for tokens in asked]
        self._query_offsets, self._query_tokens = packed(cut)
        self._offsets, self._tokens, self._shares = unique_tokens(
            analysed.offsets("wordpieces"),
            analysed.tokens("wordpieces"),
            options.max_document_tokens,
        )

    def batches(self, epoch: int) -> list[PairBatch]:
        """Return the batches of an epoch: each query once, of like length within a batch."""
        options = self._options
        documents = draw_documents(
            self._relevant, self._others, options.negatives_each, options.seed, epoch
        )
        lengths = np.diff(self._query_offsets)
        cut = batches(lengths, options.batch, options.seed, epoch)
        return [PairBatch(each, documents[each]) for each in cut]

    def seen(self) -> NDArray[np.int32]:
        """Return the word pieces of the documents and of the queries, ascending."""
        return np.union1d(self._tokens, self._query_tokens).astype(np.int32)

    def arrays(
        self, batch: PairBatch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return a batch as matrices.

        Returns:
            Query tokens, (batch, query tokens) int64, padded with [PAD]; the different tokens of
            each query's documents, (batch, tokens) int64; and P(d|D) of these in each document,
            (batch, tokens, 1 + negatives) float32, 0 for tokens that it lacks and for padding.
        """
        rows, each = batch.documents.shape
        documents = batch.documents.ravel()
        found = Forward(self._offsets, self._tokens).gather(documents)
        held, lengths = found
        query_of, document_of = np.divmod(found.owner, each)
        size = int(self._tokens.max(initial=0)) + 1
        keys, key_of = np.unique(query_of * size + held, return_inverse=True)
        begins = np.searchsorted(keys, np.arange(rows + 1) * size)
        width = rounded(max(1, int(np.diff(begins).max(initial=0))), TOKENS_MULTIPLE)
        tokens = np.full((rows, width), self._padding, np.int64)
        row = keys // size
        tokens[row, np.arange(len(keys)) - begins[row]] = keys % size
        shares = np.zeros((rows, width, each), np.float32)
        places = self._offsets[documents][found.owner] + _within(lengths)
        shares[query_of, key_of - begins[query_of], document_of] = self._shares[places]
        asked = padded(
            self._query_offsets,
            self._query_tokens,
            batch.queries,
            self._padding,
            QUERY_TOKENS_MULTIPLE,
        )
        return asked, tokens, shares


def _within(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, … for each document, end to end."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
