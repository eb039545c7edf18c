"""Queries and relevant documents that an encoder learns from, as token ids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.onnx.encoder import truncate
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import analyse
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.learning.batches import batches, draw
from ranklet.training.learning.negatives import (
    Numbers,
    bm25_negatives,
    known_positives,
    random_negatives,
    random_pools,
    relevant_numbers,
)
from ranklet.training.learning.options import TextPairOptions
from ranklet.training.learning.ragged import packed, padded
from ranklet.training.progress import progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Padded = tuple[NDArray[np.int64], NDArray[np.int64]]  # input_ids and attention_mask

DEV_QUERIES, DEV_POOL = 200, 1500  # some 20 s of MiniLM-L6 on two cores
_BLOCK = 1024  # texts tokenised at a time


class Tokens(NamedTuple):
    """Token ids of some texts, with [CLS] and [SEP]."""

    offsets: NDArray[np.int64]  # (texts + 1,)
    ids: NDArray[np.int64]  # of all, end to end

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text."""
        return np.diff(self.offsets)

    def padded(self, rows: NDArray[np.integer], padding: int) -> Padded:
        """Return input_ids and attention_mask of some texts, (rows, tokens) int64 each."""
        ids = padded(self.offsets, self.ids, rows, padding)
        mask = np.arange(ids.shape[1]) < self.lengths[rows][:, None]
        return ids, mask.astype(np.int64)


def tokenise(
    tokenizer: "Tokenizer", texts: Sequence[str], max_tokens: int, label: str | None = None
) -> Tokens:
    """Cut texts into word pieces, [CLS] and [SEP] around them; the same cut as when serving.

    Args:
        tokenizer: which adds [CLS] and [SEP].
        texts: what is longer than `max_tokens` is cut at its end, [SEP] kept.
        max_tokens: [CLS] and [SEP] counted.
        label: of the progress bar; None for no bar.
    """
    rows = []
    blocks = range(0, len(texts), _BLOCK)
    for begin in progress(blocks, label) if label else blocks:
        block = tokenizer.encode_batch(list(texts[begin : begin + _BLOCK]))
        rows += [np.array(truncate(each.ids, max_tokens), np.int64) for each in block]
    return Tokens(*packed(rows))


class Batch(NamedTuple):
    """Numbers of queries, and of the documents that all of them are compared with."""

    queries: Numbers  # (batch,)
    documents: Numbers  # (batch,) relevant ones in the queries' order; then any negatives


class TextPairs:
    """The batches of every epoch.

    Args:
        documents: of the collection.
        queries: judged ones.
        tokenizer: of the encoder.
        options: of the batches and the texts; its BM25 gives hard negatives, its seed all draws.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        queries: Sequence[JudgedQuery],
        tokenizer: "Tokenizer",
        options: TextPairOptions,
    ) -> None:
        self.ids = [document.id for document in documents]
        kept, self._relevant = relevant_numbers(self.ids, queries)
        self._options, self._seed, self.tokenizer = options, options.seed, tokenizer
        self._others: list[Numbers] = []
        if options.negatives == "random":
            self._others = random_pools(len(documents), self._relevant, seed=options.seed)
        elif options.negatives == "bm25":
            analysed = analyse(
                documents, [options.bm25.field], tokenizer=tokenizer, titles=options.titles
            )
            retriever = open_bm25(options.bm25, analysed.postings(options.bm25.field))
            self._others = bm25_negatives(
                analysed, kept, self._relevant, retriever, seed=options.seed
            )
        texts = [ranked_text(each.title, each.text, options.titles) for each in documents]
        self.documents = tokenise(tokenizer, texts, options.max_document_tokens, "tokenising")
        self.queries = self.asked(kept)

    def asked(self, queries: Sequence[JudgedQuery]) -> Tokens:
        """Return queries as token ids."""
        texts = [query.text for query in queries]
        return tokenise(self.tokenizer, texts, self._options.max_query_tokens)

    def batches(self, epoch: int) -> list[Batch]:
        """Return the batches of an epoch: each query once, documents of like length together."""
        positives = draw(self._relevant, self._seed, epoch, stream=0)
        others = draw(self._others, self._seed, epoch, stream=1) if self._others else None
        cut = batches(self.documents.lengths[positives], self._options.batch, self._seed, epoch)
        return [
            Batch(
                each,
                positives[each]
                if others is None
                else np.concatenate([positives[each], others[each]]),
            )
            for each in cut
        ]

    def relevant(self, batch: Batch) -> NDArray[np.bool_]:
        """Tell which documents of a batch are relevant to which query, (queries, documents)."""
        return known_positives([self._relevant[at] for at in batch.queries], batch.documents)


class Pool:
    """A few dev queries among a fixed pool of documents: a quick measure while training.

    Args:
        pairs: for the documents' tokens.
        queries: judged ones; some are drawn.
        seed: of the draw.

    Raises:
        InputError: no query has a relevant document in the collection.
    """

    def __init__(self, pairs: TextPairs, queries: Sequence[JudgedQuery], *, seed: int) -> None:
        rng = np.random.default_rng(seed)
        kept, relevant = relevant_numbers(pairs.ids, queries, "dev query")
        chosen = np.sort(rng.permutation(len(kept))[:DEV_QUERIES])
        wanted = np.unique(np.concatenate([relevant[at] for at in chosen]))
        others = random_negatives(len(pairs.ids), wanted, max(0, DEV_POOL - len(wanted)), rng)
        numbers = np.concatenate([wanted, others])
        self.queries = pairs.asked([kept[at] for at in chosen])
        self.documents = _rows(pairs.documents, numbers)
        self._relevant = known_positives([relevant[at] for at in chosen], numbers)

    def __len__(self) -> int:
        return len(self.documents.lengths)

    def mrr(self, queries: NDArray[np.float32], documents: NDArray[np.float32]) -> float:
        """Return MRR@10 of ranking the pool by inner product.

        Args:
            queries: their vectors, (queries, dimension).
            documents: vectors of the pool, (documents, dimension).
        """
        scores = queries @ documents.T
        best = np.where(self._relevant, scores, -np.inf).max(1, keepdims=True)
        ranks = 1 + (~self._relevant & (scores >= best)).sum(1)
        return float(np.where(ranks <= 10, 1 / ranks, 0).mean())


def _rows(tokens: Tokens, rows: Numbers) -> Tokens:
    held = [tokens.ids[tokens.offsets[at] : tokens.offsets[at + 1]] for at in rows.tolist()]
    return Tokens(*packed(held))
