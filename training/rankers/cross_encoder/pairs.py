"""The pairs of a query and a document that a cross-encoder is trained and measured on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.cross_encoder import document_pieces
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.text.pairing import Pair, Pairing
from ranklet.training.distilling.taught import TaughtQueries, pools
from ranklet.training.rankers.cross_encoder.options import CrossBatchOptions
from ranklet.training.sampling.batches import Batch, draw_documents, query_batches
from ranklet.training.sampling.dev_candidates import CandidateLists

KEPT = 0.1  # how likely a passage after the first of its document is kept
_PASSAGES = 5  # stream of random numbers; 0 to 4 are in training/sampling


class Passages(NamedTuple):
    """Passages, each as a pair of its own."""

    pairs: list[Pair]  # with one row each
    relevant: NDArray[np.bool_]  # (pairs,), whether the document of the passage is relevant


class CrossPairs:
    """The batches of every epoch, over a collection with word pieces and the retriever's field.

    Taught queries replace the others and bring their own negatives.

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
        taught_queries: TaughtQueries | None,
    ) -> None:
        self._options, self._pairing, self._analysed = options, pairing, analysed
        usable, self._relevant, self._negatives = pools(
            taught_queries, analysed, queries, retriever, options.negatives,
            seed=options.seed, depth=options.depth, count=options.pool,
        )  # fmt: skip
        self._queries = [query_pieces(analysed, pairing, query.text) for query in usable]

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches: each query once, documents of similar length together."""
        options = self._options
        documents = draw_documents(
            self._relevant, self._negatives, options.negatives_each, options.seed, epoch
        )
        lengths = np.diff(self._analysed.offsets("wordpieces"))
        most = self._pairing.format.max_tokens * self._pairing.format.chunks
        read = np.minimum(lengths[documents[:, 0]], most)
        return query_batches(documents, read, options.batch, options.seed, epoch)

    def pairs(self, batch: Batch) -> list[Pair]:
        """Return the pairs of a batch, query by query."""
        return [
            self._pairing.pair(self._queries[query], document_pieces(self._analysed, document))
            for query, documents in zip(batch.queries, batch.documents.tolist(), strict=True)
            for document in documents
        ]

    def passages(self, batch: Batch) -> Passages:
        """Return the passages of a batch, each with the label of its document.

        The first passage of a document is always among them, any other one with the probability
        `KEPT` (Boualili 2022, §7.5.3). A query and a document have the same passages in every
        epoch, because the thesis draws them once, too.
        """
        made, relevant = [], []
        documents = batch.documents.shape[1]
        for at, pair in enumerate(self.pairs(batch)):
            query, column = divmod(at, documents)
            key = int(batch.queries[query]), int(batch.documents[query, column])
            rng = np.random.default_rng((self._options.seed, _PASSAGES, *key))
            drawn = rng.random(len(pair.rows)) < KEPT
            drawn[0] = True
            for number in np.flatnonzero(drawn):
                made.append(pair._replace(rows=[pair.rows[number]], read=[pair.read[number]]))
                relevant.append(column == 0)
        return Passages(made, np.array(relevant))


def dev_pairs(lists: CandidateLists, analysed: AnalysedCollection, pairing: Pairing) -> list[Pair]:
    """Return the pairs of candidate lists, list after list."""
    pairs = []
    for query, documents, _ in lists.lists:
        pieces = query_pieces(analysed, pairing, query.text)
        pairs += [
            pairing.pair(pieces, document_pieces(analysed, document)) for document in documents
        ]
    return pairs


def query_pieces(analysed: AnalysedCollection, pairing: Pairing, text: str) -> list[int]:
    """Return the word pieces that are read of a query."""
    return pairing.query(analysed.analyzer.wordpieces([text])[0].tolist())
