"""Tokenised queries and documents that an encoder is trained and measured on."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import analyse
from ranklet.corpus.indexing.ragged import packed, padded
from ranklet.corpus.progress import progress
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.text.tokenizing import encode_batch, ending, truncate
from ranklet.training.distilling.taught import TaughtQueries
from ranklet.training.learning.options import TextPairOptions
from ranklet.training.sampling.batches import batches, draw, draw_several
from ranklet.training.sampling.dev_candidates import reciprocal_rank
from ranklet.training.sampling.negatives import (
    Numbers,
    bm25_negatives,
    mark_known_positives,
    random_negatives,
    random_pools,
    relevant_numbers,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Vectors = Sequence[NDArray[np.float32]]
MEASURED = "int16"  # how vectors of tokens are stored while the pool is ranked
Padded = tuple[NDArray[np.int64], NDArray[np.int64]]  # input_ids and attention_mask

DEV_QUERIES, DEV_POOL = 200, 1500  # about 20 s of MiniLM-L6 on two cores
_BLOCK = 1024  # texts tokenised at a time


class Tokens(NamedTuple):
    """Token ids of some texts, with [CLS] and [SEP]."""

    offsets: NDArray[np.int64]  # (texts + 1,)
    ids: NDArray[np.int64]  # of all texts, end to end

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each text, (texts,) int64."""
        return np.diff(self.offsets)

    def frequencies(self, vocabulary: int) -> NDArray[np.int64]:
        """Return how many of the texts have each token, (vocabulary,) int64."""
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)
        once = np.unique(rows * vocabulary + self.ids)  # each token once per text
        return np.bincount(once % vocabulary, minlength=vocabulary)

    def row(self, number: int) -> list[int]:
        """Return the token ids of a text."""
        ids: list[int] = self.ids[self.offsets[number] : self.offsets[number + 1]].tolist()
        return ids

    def rows(self, numbers: NDArray[np.integer]) -> "Tokens":
        """Return the tokens of some of the texts."""
        ids = [self.ids[self.offsets[at] : self.offsets[at + 1]] for at in numbers.tolist()]
        return Tokens(*packed(ids))

    def padded(self, rows: NDArray[np.integer], padding: int) -> Padded:
        """Return input_ids and attention_mask of some texts, (rows, tokens) int64 each."""
        ids = padded(self.offsets, self.ids, rows, padding)
        mask = np.arange(ids.shape[1]) < self.lengths[rows][:, None]
        return ids, mask.astype(np.int64)


def tokenise(
    tokenizer: "Tokenizer", texts: Sequence[str], max_tokens: int, label: str | None = None
) -> Tokens:
    """Cut texts into word pieces with [CLS] and [SEP], as serving does.

    A text of more than `max_tokens`, [CLS] and [SEP] included, is cut at its end and keeps [SEP].
    Without a label there is no progress bar.
    """
    rows, ends = [], ending(tokenizer)
    blocks = range(0, len(texts), _BLOCK)
    for begin in progress(blocks, label) if label else blocks:
        block = encode_batch(tokenizer, texts[begin : begin + _BLOCK], special=True)
        rows += [np.array(truncate(encoding.ids, max_tokens, ends), np.int64) for encoding in block]
    return Tokens(*packed(rows))


class Batch(NamedTuple):
    """Queries, and the documents that each of them is compared with."""

    queries: Numbers  # (batch,) int64
    documents: Numbers  # int64: the relevant documents in the queries' order, then any negatives

    @property
    def own(self) -> Numbers:
        """Each query's own documents, the relevant one first, (queries, documents) int64."""
        return self.documents.reshape(-1, len(self.queries)).T


class TextPairs:
    """The batches of every epoch, over the collection's documents and judged queries.

    Prompts are texts before each query and before each document. Limits are tokens of a query and
    of a document; None for those of the options. Taught queries replace the others and bring their
    own negatives.

    Attributes:
        judged: the queries to learn from.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        queries: Sequence[JudgedQuery],
        tokenizer: "Tokenizer",
        options: TextPairOptions,
        prompts: tuple[str, str] = ("", ""),
        limits: tuple[int, int] | None = None,
        taught_queries: TaughtQueries | None = None,
    ) -> None:
        self._prompts, self._limits = prompts, limits or options.limits
        self.ids = [document.id for document in documents]
        self._options, self.tokenizer = options, tokenizer
        if taught_queries is not None:
            self.judged, self._positives, self._negatives = taught_queries.pools
            self._relevant = [each.relevant for each in taught_queries.queries]
        else:
            self.judged, self._relevant = relevant_numbers(self.ids, queries)
            self._positives = self._relevant
            self._negatives = self._choose_negatives(documents)
        texts = [
            prompts[1] + ranked_text(document.title, document.text, options.titles)
            for document in documents
        ]
        self.documents = tokenise(tokenizer, texts, self._limits[1], "tokenising")
        self.queries = self.tokenise_queries(self.judged)

    def _choose_negatives(self, documents: Sequence[Document]) -> list[Numbers]:
        """Return the negatives of each query; none if they are in the batch or found later."""
        options = self._options
        if options.negatives == "random":
            return random_pools(len(documents), self._relevant, seed=options.seed)
        if options.negatives != "bm25":
            return []
        analysed = analyse(
            documents, [options.bm25.field], tokenizer=self.tokenizer, titles=options.titles
        )
        retriever = analysed.bm25(options.bm25)
        return bm25_negatives(analysed, self.judged, self._relevant, retriever, seed=options.seed)

    def tokenise_queries(self, queries: Sequence[JudgedQuery]) -> Tokens:
        """Return the token ids of queries."""
        texts = [self._prompts[0] + query.text for query in queries]
        return tokenise(self.tokenizer, texts, self._limits[0])

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches: each query once, documents of similar length together."""
        size, seed = self._options.batch, self._options.seed
        positives = draw(self._positives, seed, epoch, stream=0)
        drawn = [positives]
        if self._negatives:
            drawn += [*draw_several(self._negatives, self._options.negatives_each, seed, epoch).T]
        return [
            Batch(rows, np.concatenate([documents[rows] for documents in drawn]))
            for rows in batches(self.documents.lengths[positives], size, seed, epoch)
        ]

    def relevant_to(self, query: int) -> Numbers:
        """Return the numbers of the documents that are relevant to a query, ascending."""
        return self._relevant[query]

    def relevant(self, batch: Batch) -> NDArray[np.bool_]:
        """Return which documents are relevant to which query, (queries, documents) bool."""
        return mark_known_positives([self._relevant[at] for at in batch.queries], batch.documents)


class Pool:
    """Some dev queries and a pool of documents to rank, for a quick measure during training.

    Attributes:
        texts: the texts of the queries.
        numbers: numbers of the documents in the collection, (documents,) int64.
        relevant: which documents are relevant, (queries, documents) bool.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self, pairs: TextPairs, queries: Sequence[JudgedQuery], options: TextPairOptions
    ) -> None:
        rng = np.random.default_rng(options.seed)
        usable, relevant = relevant_numbers(pairs.ids, queries, "dev query")
        chosen = np.sort(rng.permutation(len(usable))[: options.shorten(DEV_QUERIES)])
        positives = np.unique(np.concatenate([relevant[at] for at in chosen]))
        more = max(0, options.shorten(DEV_POOL) - len(positives))
        others = random_negatives(len(pairs.ids), positives, more, rng)
        self.texts = [usable[at].text for at in chosen]
        self.numbers: Numbers = np.concatenate([positives, others])
        self.queries = pairs.tokenise_queries([usable[at] for at in chosen])
        self.documents = pairs.documents.rows(self.numbers)
        self.relevant = mark_known_positives([relevant[at] for at in chosen], self.numbers)

    def __len__(self) -> int:
        return len(self.documents.lengths)

    def reciprocal_ranks(self, scores: Iterable[NDArray[np.float32]]) -> NDArray[np.float64]:
        """Return each query's 1 / rank in the pool, (queries,), 0 beyond rank 10.

        Args:
            scores: the scores of the documents for each query, (documents,) float32 each.
        """
        return np.array(list(map(reciprocal_rank, scores, self.relevant)))

    def max_sim_ranks(self, queries: Vectors, documents: Vectors) -> NDArray[np.float64]:
        """Return each query's 1 / rank by MaxSim, (queries,); see `reciprocal_ranks`.

        Args:
            queries: the vectors of each query's tokens, (tokens, dimension) float32.
            documents: those of each document of the pool.
        """
        store = TokenStore.of(documents, MEASURED, documents[0].shape[1])
        everything = np.arange(len(store))
        scores = (store.scores(quantise_query(each, MEASURED), everything) for each in queries)
        return self.reciprocal_ranks(scores)


def bm25_mrr(
    pool: Pool, documents: Sequence[Document], tokenizer: "Tokenizer", options: TextPairOptions
) -> float:
    """Return MRR@10 of ranking the pool by BM25 with the pool's own statistics.

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
