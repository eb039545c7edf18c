"""Build the parallel corpus of Model 1 from queries and chunks of their relevant documents.

IBM Model 1 aligns short sentences. A document is far longer than a query, so Boytsov & Kolter
(2021, §3) split it into contiguous chunks about as long as the query and pair the query with each.
Jeon, Croft & Lee (2005) combine both directions, query ← chunk and chunk ← query, to learn one
table from twice the evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.ragged import ranges
from ranklet.runtime.ground.errors import InputError

MOST_TOKENS = 512  # a document's first tokens, which are used


@dataclass(frozen=True, eq=False)
class Bitext:
    """Sentence pairs in compressed rows, none of which is empty.

    Attributes:
        target_tokens: ids of the generated tokens, pair after pair, (target positions,) int32.
        target_offsets: pair i owns target_tokens[offsets[i]:offsets[i + 1]], (pairs + 1,) int64.
        source_tokens: ids of the generating tokens, (source positions,) int32.
        source_offsets: (pairs + 1,) int64.
    """

    target_tokens: NDArray[np.int32]
    target_offsets: NDArray[np.int64]
    source_tokens: NDArray[np.int32]
    source_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.target_offsets) - 1


def build_bitext(
    queries: Sequence[NDArray[np.integer]], documents: Sequence[NDArray[np.integer]]
) -> Bitext:
    """Pair each query with the chunks of its document, and each chunk with its query.

    Args:
        queries: token ids of each query, arrays (query tokens,).
        documents: token ids of a relevant document for each query, of which the first
            `MOST_TOKENS` are used.

    Returns:
        The pairs with the query as target, in order and chunk after chunk, then the same pairs
        with exchanged sides. A pair is skipped if its query or its document has no tokens.

    Raises:
        InputError: no pair is left.
    """
    aligned = [pair for pair in zip(queries, documents, strict=True) if all(map(len, pair))]
    if not aligned:
        raise InputError(
            "no pair has a token left on both sides; give at least one query and document with "
            "tokens"
        )
    query_tokens, query_lengths = _flatten([query for query, _ in aligned])
    document_tokens, document_lengths = _flatten([each[:MOST_TOKENS] for _, each in aligned])
    chunks = chunk_counts(query_lengths, document_lengths)
    starts = np.cumsum(query_lengths) - query_lengths
    query_rows = _rows(query_tokens, starts.repeat(chunks), query_lengths.repeat(chunks))
    starts = np.cumsum(document_lengths) - document_lengths
    chunk_rows = _rows(document_tokens, *_split(starts, document_lengths, chunks))
    return Bitext(*_stack(query_rows, chunk_rows), *_stack(chunk_rows, query_rows))


def chunk_counts(
    query_lengths: NDArray[np.int64], document_lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of chunks of each document, |D| / |Q|, rounded, at least 1.

    Args:
        query_lengths: (pairs,) int64, in tokens, at least 1.
        document_lengths: (pairs,) int64, in tokens, at least 1.

    Returns:
        (pairs,) int64, at most the document's length, so that no chunk is empty.
    """
    wanted = np.floor(document_lengths / query_lengths + 0.5)
    return np.clip(wanted, 1, document_lengths).astype(np.int64)


def _flatten(
    sequences: Sequence[NDArray[np.integer]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all tokens in one array and the length of each sequence."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    return np.concatenate(sequences).astype(np.int32), lengths


def _split(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], chunks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and lengths of chunks. Lengths within a row differ by at most one token."""
    number = ranges(np.zeros_like(chunks), chunks)  # 0, 1, … within each row
    length, parts = lengths.repeat(chunks), chunks.repeat(chunks)
    begin, end = number * length // parts, (number + 1) * length // parts
    return starts.repeat(chunks) + begin, end - begin


def _rows(
    tokens: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return tokens and offsets of the rows that begin at `starts`; rows may be repeated."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return tokens[ranges(starts, lengths)], offsets


def _stack(
    above: tuple[NDArray[np.int32], NDArray[np.int64]],
    below: tuple[NDArray[np.int32], NDArray[np.int64]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows of both; the rows of `above` come first."""
    tokens = np.concatenate([above[0], below[0]])
    return tokens, np.concatenate([above[1], below[1][1:] + above[1][-1]])
