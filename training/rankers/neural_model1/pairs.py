"""The queries with relevant and other documents that a neural Model 1 is trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.storage.forward import Forward
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.neural_model1.options import PairOptions
from ranklet.training.sampling.batches import Batch, draw_documents, query_batches
from ranklet.training.sampling.negatives import negative_pools, relevant_numbers
from ranklet.training.sampling.ragged import packed, padded, rounded, unique_tokens
from ranklet.training.teaching.taught import TaughtQueries

# Batches are padded to these, so that they come in few shapes; see `rounded`.
QUERY_TOKENS_MULTIPLE, TOKENS_MULTIPLE = 4, 64


class Pairs:
    """The batches of every epoch, as word pieces; `padding` is the id of [PAD].

    Taught queries replace the others and bring their own negatives.

    Raises:
        InputError: no query has a relevant document in the collection, or there are no others.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        options: PairOptions,
        padding: int,
        taught_queries: TaughtQueries | None = None,
    ) -> None:
        if taught_queries is not None:
            usable, self._relevant, self._negatives = taught_queries.pools
        else:
            usable, self._relevant = relevant_numbers(list(analysed.documents.ids), queries)
            self._negatives = negative_pools(
                analysed, usable, self._relevant, retriever, options.negatives, seed=options.seed
            )
        self._options, self._padding = options, padding
        texts = [analysed.analyzer.begin().tokens(query.text, "wordpieces") for query in usable]
        tokens = [text[: options.max_query_tokens].astype(np.int64) for text in texts]
        self._query_offsets, self._query_tokens = packed(tokens)
        self._shares: NDArray[Any]
        self._offsets, self._tokens, self._shares = unique_tokens(
            analysed.offsets("wordpieces"),
            analysed.tokens("wordpieces"),
            options.max_document_tokens,
        )

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches: each query once, queries of similar length together."""
        options = self._options
        documents = draw_documents(
            self._relevant, self._negatives, options.negatives_each, options.seed, epoch
        )
        lengths = np.diff(self._query_offsets)
        return query_batches(documents, lengths, options.batch, options.seed, epoch)

    def seen(self) -> NDArray[np.int32]:
        """Return the word pieces of all documents and queries, ascending."""
        return np.union1d(self._tokens, self._query_tokens).astype(np.int32)

    def arrays(
        self, batch: Batch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return a batch as matrices.

        Returns:
            Query tokens, (batch, query tokens) int64, padded with [PAD]; the unique tokens of each
            query's documents, (batch, tokens) int64; and P(d|D) of these tokens in each document,
            (batch, tokens, 1 + negatives) float32, 0 for absent tokens and for padding.
        """
        rows, columns = batch.documents.shape
        documents = batch.documents.ravel()
        gathered = Forward(self._offsets, self._tokens).gather(documents)
        query_of, document_of = np.divmod(gathered.owner, columns)
        size = int(self._tokens.max(initial=0)) + 1
        keys, key_of = np.unique(query_of * size + gathered.tokens, return_inverse=True)
        begins = np.searchsorted(keys, np.arange(rows + 1) * size)
        width = rounded(max(1, int(np.diff(begins).max(initial=0))), TOKENS_MULTIPLE)
        tokens = np.full((rows, width), self._padding, np.int64)
        row = keys // size
        tokens[row, np.arange(len(keys)) - begins[row]] = keys % size
        shares = np.zeros((rows, width, columns), np.float32)
        of_tokens = Forward(self._offsets, self._shares).gather(documents).tokens
        shares[query_of, key_of - begins[query_of], document_of] = of_tokens
        query_tokens = padded(
            self._query_offsets,
            self._query_tokens,
            batch.queries,
            self._padding,
            QUERY_TOKENS_MULTIPLE,
        )
        return query_tokens, tokens, shares
