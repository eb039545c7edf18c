"""Queries with documents that a cross-encoder learns from, and those that it is measured on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.runtime.text.pairing import Pair, Pairing
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.batches import batches, draw_documents
from ranklet.training.learning.dev_candidates import CandidateLists, reciprocal_rank
from ranklet.training.learning.negatives import (
    DEPTH,
    NEGATIVES,
    Numbers,
    negative_pools,
    relevant_numbers,
)

Negatives = Literal["bm25", "random"]
# Scores of pairs, (pairs,) float32.
Score = Callable[[Sequence[Pair]], NDArray[np.float32]]

DEV_QUERIES, DEV_CANDIDATES = 100, 20  # 2,000 pairs: 10 s of MiniLM-L6 at 128 tokens on two cores


@dataclass(frozen=True)
class CrossOptions:
    """What a batch is made of.

    Attributes:
        batch: queries, each with one relevant document; 4 × accumulation 4 are paper 000's 16.
        negatives: bm25, some of its top ranks (000, §4.1), or random.
        negatives_each: so many for each relevant document (000: 1).
        depth: ranks of BM25 that the negatives come from (000: 500).
        pool: negatives kept for each query, of which each epoch draws (000: 20).
    """

    batch: int = 4
    negatives: Negatives = "bm25"
    negatives_each: int = 1
    depth: int = DEPTH
    pool: int = NEGATIVES

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("batch", "negatives_each", "depth", "pool"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number from 1")
        if self.negatives not in get_args(Negatives):
            allowed = ", ".join(get_args(Negatives))
            raise InputError(f"negatives is {self.negatives!r}; allowed are {allowed}")


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
        options: of the batches.
        pairing: how a query and a document become token ids.
        seed: of all draws.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        options: CrossOptions,
        pairing: Pairing,
        seed: int,
    ) -> None:
        kept, self._relevant = relevant_numbers(list(analysed.documents.ids), queries)
        if not kept:
            raise InputError("no query has a relevant document in the collection")
        self._options, self._pairing, self._seed = options, pairing, seed
        self._analysed = analysed
        self._others = negative_pools(
            analysed, kept, self._relevant, retriever, options.negatives,
            seed=seed, depth=options.depth, count=options.pool,
        )  # fmt: skip
        self._queries = [asked(analysed, pairing, query.text) for query in kept]

    def batches(self, epoch: int) -> list[CrossBatch]:
        """Return the batches of an epoch: each query once, documents of like length together."""
        documents = draw_documents(
            self._relevant, self._others, self._options.negatives_each, self._seed, epoch
        )
        lengths = np.diff(self._analysed.offsets("wordpieces"))
        form = self._pairing.format
        read = np.minimum(lengths[documents[:, 0]], form.max_tokens * form.chunks)
        cut = batches(read, self._options.batch, self._seed, epoch)
        return [CrossBatch(each, documents[each]) for each in cut]

    def pairs(self, batch: CrossBatch) -> list[Pair]:
        """Return the pairs of a batch, query by query."""
        return [
            self._pairing.pair(self._queries[query], pieces_of(self._analysed, document))
            for query, documents in zip(batch.queries, batch.documents.tolist(), strict=True)
            for document in documents
        ]


class DevPool:
    """The pairs of `CandidateLists`, made once: a quick measure while training.

    Args:
        analysed: the collection.
        queries: judged ones; some are drawn.
        retriever: BM25.
        pairing: as in training.
        seed: of the draw.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        pairing: Pairing,
        *,
        seed: int,
    ) -> None:
        drawn = CandidateLists(
            analysed, queries, retriever, most=DEV_QUERIES, depth=DEV_CANDIDATES, seed=seed
        ).lists
        self._relevant = [relevant for _, _, relevant in drawn]
        self._pairs: list[list[Pair]] = []
        for judged, numbers, _ in drawn:
            query = asked(analysed, pairing, judged.text)
            self._pairs.append([pairing.pair(query, pieces_of(analysed, n)) for n in numbers])

    def mrr(self, score: Score) -> float:
        """Return MRR@10 of ranking each query's candidates."""
        scores = score([pair for pairs in self._pairs for pair in pairs])
        ends = np.cumsum([len(pairs) for pairs in self._pairs])
        each_query = np.split(scores, ends[:-1])
        return float(np.mean(list(map(reciprocal_rank, each_query, self._relevant))))


def asked(analysed: AnalysedCollection, pairing: Pairing, text: str) -> list[int]:
    """Return what is read of a query."""
    return pairing.query(analysed.analyzer.wordpieces(text).tolist())


def pieces_of(analysed: AnalysedCollection, document: int) -> list[int]:
    """Return the word pieces of a document."""
    forward = analysed.forwards["wordpieces"]
    begin, end = forward.offsets[document : document + 2]
    pieces: list[int] = forward.tokens[begin:end].tolist()
    return pieces
