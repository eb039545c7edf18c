"""Pairs that neural Model 1 learns from: a relevant document and another, for a query each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.ranker import Ranker

from .indexing import AnalysedCollection
from .padding import packed, padded, unique_tokens
from .samplers import (
    NEGATIVES,
    Numbers,
    batches,
    bm25_negatives,
    draw,
    random_pools,
    relevant_numbers,
)
from .splits import JudgedQuery

Source = Literal["bm25", "random"]


@dataclass(frozen=True)
class PairOptions:
    """Which pairs, and how many at a time.

    Attributes:
        batch: queries in a batch (paper 000: 32).
        negatives: bm25, from the top 500 (paper 000), or random.
        max_query_tokens: longer queries are cut.
        max_document_tokens: longer documents are cut.
    """

    batch: int = 32
    negatives: Source = "bm25"
    max_query_tokens: int = 64
    max_document_tokens: int = 256

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("batch", "max_query_tokens", "max_document_tokens"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number above 0")
        if self.negatives not in get_args(Source):
            allowed = ", ".join(get_args(Source))
            raise InputError(f"negatives is {self.negatives!r}; allowed are {allowed}")


class PairBatch(NamedTuple):
    """Numbers of queries and documents, (pairs,) int64 each."""

    queries: Numbers  # among those of `Pairs`
    positives: Numbers
    negatives: Numbers


class Pairs:
    """The pairs of every epoch, as word pieces.

    Args:
        analysed: the collection.
        queries: judged ones.
        retriever: BM25, which gives the negatives.
        options: which pairs.
        seed: of all draws.
        padding: the id of [PAD].

    Raises:
        InputError: no query has a relevant document in the collection, or none has another.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Ranker,
        options: PairOptions,
        seed: int,
        padding: int,
    ) -> None:
        kept, self._relevant = relevant_numbers(list(analysed.documents.ids), queries)
        if not kept:
            raise InputError("no query has a relevant document in the collection")
        if options.negatives == "bm25":
            self._others = bm25_negatives(analysed, kept, self._relevant, retriever, seed=seed)
        else:
            count = len(analysed.documents)
            self._others = random_pools(count, self._relevant, count=NEGATIVES, seed=seed)
        self._options, self._seed, self._padding = options, seed, padding
        asked = [analysed.analyzer.begin().tokens(query.text, "wordpieces") for query in kept]
        cut = [tokens[: options.max_query_tokens].astype(np.int64) for tokens in asked]
        self._query_offsets, self._query_tokens = packed(cut)
        self._offsets, self._tokens, self._shares = unique_tokens(
            analysed.offsets("wordpieces"),
            analysed.tokens("wordpieces"),
            options.max_document_tokens,
        )

    def batches(self, epoch: int) -> list[PairBatch]:
        """Return the batches of an epoch: one pair a query, of like length within a batch."""
        positives = draw(self._relevant, self._seed, epoch, stream=0)
        negatives = draw(self._others, self._seed, epoch, stream=1)
        held = np.diff(self._offsets)
        longer = np.maximum(held[positives], held[negatives])
        cut = batches(longer, self._options.batch, self._seed, epoch)
        return [PairBatch(each, positives[each], negatives[each]) for each in cut]

    def seen(self) -> NDArray[np.int32]:
        """Return the word pieces of the documents and of the queries, ascending."""
        return np.union1d(self._tokens, self._query_tokens).astype(np.int32)

    def arrays(
        self, batch: PairBatch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return a batch as matrices.

        Returns:
            Query tokens, (pairs, tokens) int64, padded with [PAD]; different tokens of the relevant
            and then of the other documents, (2 · pairs, unique tokens) int64; and P(d|D) of these,
            the same shape, float32, 0 for padding.
        """
        documents = np.concatenate([batch.positives, batch.negatives])
        return (
            padded(self._query_offsets, self._query_tokens, batch.queries, self._padding),
            padded(self._offsets, self._tokens, documents, self._padding),
            padded(self._offsets, self._shares, documents, 0),
        )
