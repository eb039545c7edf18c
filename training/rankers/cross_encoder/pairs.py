"""Queries with documents that a cross-encoder learns from, and those that it is measured on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranklet.runtime.rankers.protocol import Retriever
from ranklet.runtime.text.pairing import Pair, Pairing
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.cross_encoder.options import CrossBatchOptions
from ranklet.training.sampling.batches import batches, draw_documents
from ranklet.training.sampling.dev_candidates import CandidateLists
from ranklet.training.sampling.negatives import Numbers, negative_pools, relevant_numbers

DEV_QUERIES, DEV_CANDIDATES = 100, 20  # 2,000 pairs: 10 s of MiniLM-L6 at 128 tokens on two cores


class CrossBatch(NamedTuple):
    """Queries, and documents of each: a relevant one first."""

    queries: Numbers  # (batch,)
    documents: Numbers  # (batch, 1 + negatives)


class CrossPairs:
    """The batches of every epoch.

    Args:
        analysed: the collection, with word pieces and the retriever's field.
        queries: judged ones.
        retriever: BM25.
        options: of the batches, and the seed of all draws.
        pairing: how a query and a document become token ids.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        options: CrossBatchOptions,
        pairing: Pairing,
    ) -> None:
        kept, self._relevant = relevant_numbers(list(analysed.documents.ids), queries)
        self._options, self._pairing, self._analysed = options, pairing, analysed
        self._others = negative_pools(
            analysed, kept, self._relevant, retriever, options.negatives,
            seed=options.seed, depth=options.depth, count=options.pool,
        )  # fmt: skip
        self._queries = [asked(analysed, pairing, query.text) for query in kept]

    def batches(self, epoch: int) -> list[CrossBatch]:
        """Return the batches of an epoch: each query once, documents of like length together."""
        options = self._options
        documents = draw_documents(
            self._relevant, self._others, options.negatives_each, options.seed, epoch
        )
        lengths = np.diff(self._analysed.offsets("wordpieces"))
        form = self._pairing.format
        read = np.minimum(lengths[documents[:, 0]], form.max_tokens * form.chunks)
        cut = batches(read, options.batch, options.seed, epoch)
        return [CrossBatch(each, documents[each]) for each in cut]

    def pairs(self, batch: CrossBatch) -> list[Pair]:
        """Return the pairs of a batch, query by query."""
        return [
            self._pairing.pair(self._queries[query], pieces_of(self._analysed, document))
            for query, documents in zip(batch.queries, batch.documents.tolist(), strict=True)
            for document in documents
        ]


def dev_pairs(lists: CandidateLists, analysed: AnalysedCollection, pairing: Pairing) -> list[Pair]:
    """Return the pairs of candidate lists, end to end."""
    return [
        pairing.pair(query, pieces_of(analysed, document))
        for judged, documents, _ in lists.lists
        for query in [asked(analysed, pairing, judged.text)]
        for document in documents.tolist()
    ]


def asked(analysed: AnalysedCollection, pairing: Pairing, text: str) -> list[int]:
    """Return what is read of a query."""
    return pairing.query(analysed.analyzer.wordpieces(text).tolist())


def pieces_of(analysed: AnalysedCollection, document: int) -> list[int]:
    """Return the word pieces of a document."""
    forward = analysed.forwards["wordpieces"]
    begin, end = forward.offsets[document : document + 2]
    pieces: list[int] = forward.tokens[begin:end].tolist()
    return pieces
