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

from ranklet.runtime.errors import InputError

_TOKENS = "a token sequence must be a one-dimensional array of integers from 0 to 2**31 - 1"


@dataclass(frozen=True, eq=False)
class Bitext:
    """Sentence pairs in compressed rows, none of which is empty.

    Attributes:
        target_tokens: ids of the generated tokens, pair after pair, (target positions,) int32.
        target_offsets: pair i owns target_tokens[offsets[i]:offsets[i + 1]], (pairs + 1,) int64.
        source_tokens: ids of the generating tokens, (source positions,) int32.
        source_offsets: (pairs + 1,) int64.

    Raises:
        InputError: the offsets do not fit the tokens, a row is empty or an id is negative.
    """

    target_tokens: NDArray[np.int32]
    target_offsets: NDArray[np.int64]
    source_tokens: NDArray[np.int32]
    source_offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.target_offsets) != len(self.source_offsets):
            raise InputError(
                f"a bitext needs as many target rows as source rows; got "
                f"{len(self.target_offsets) - 1} and {len(self.source_offsets) - 1}"
            )
        for side, tokens, offsets in (
            ("target", self.target_tokens, self.target_offsets),
            ("source", self.source_tokens, self.source_offsets),
        ):
            if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(tokens):
                raise InputError(
                    f"{side}_offsets must run from 0 to the {len(tokens)} {side} tokens"
                )
            if (np.diff(offsets) < 1).any():
                raise InputError(f"every {side} row of a bitext needs a token, but one has none")
            if len(tokens) and tokens.min() < 0:
                raise InputError(f"{side} token ids must not be negative; got {tokens.min()}")

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.target_offsets) - 1


def build_bitext(
    queries: Sequence[NDArray[np.integer]],
    documents: Sequence[NDArray[np.integer]],
    *,
    max_tokens: int = 1_000_000,
    max_document_tokens: int = 512,
    chunk_ratio: float = 1.0,
    symmetric: bool = True,
) -> Bitext:
    """Pair each query with the chunks of its document.

    Documents are truncated first. Then rare tokens are dropped and the rest is split into chunks,
    so that only used tokens count for a chunk's length. A pair is skipped if its query or its
    document has no tokens left.

    Args:
        queries: token ids of each query, arrays (query tokens,).
        documents: token ids of a relevant document for each query.
        max_tokens: number of token types to keep, the most frequent in queries and truncated
            documents together; of equally frequent types the lower ids.
        max_document_tokens: number of tokens to keep from the beginning of each document.
        chunk_ratio: length of a chunk relative to its query's length.
        symmetric: whether to add the direction chunk ← query to query ← chunk.

    Returns:
        The pairs with the query as target, in order and chunk after chunk. If symmetric, the same
        pairs with exchanged sides follow.

    Raises:
        InputError: the lists differ in length, an option is not positive, a sequence holds
            something other than token ids, or no pair is left.
    """
    if len(queries) != len(documents):
        raise InputError(
            f"each query needs one document to align with; got {len(queries)} queries and "
            f"{len(documents)} documents"
        )
    for name, value in (
        ("max_tokens", max_tokens),
        ("max_document_tokens", max_document_tokens),
        ("chunk_ratio", chunk_ratio),
    ):
        if not value > 0:
            raise InputError(f"{name} must be positive; got {value}")

    query_tokens, query_lengths = _flatten(queries)
    document_tokens, document_lengths = _flatten([d[:max_document_tokens] for d in documents])
    vocabulary = _most_frequent(np.concatenate([query_tokens, document_tokens]), max_tokens)
    query_tokens, query_lengths = _keep(query_tokens, query_lengths, vocabulary)
    document_tokens, document_lengths = _keep(document_tokens, document_lengths, vocabulary)

    usable = (query_lengths > 0) & (document_lengths > 0)
    if not usable.any():
        raise InputError(
            "no pair has a token left on both sides; give at least one query and document with "
            "tokens of the kept vocabulary"
        )
    query_starts = (np.cumsum(query_lengths) - query_lengths)[usable]
    document_starts = (np.cumsum(document_lengths) - document_lengths)[usable]
    query_lengths, document_lengths = query_lengths[usable], document_lengths[usable]

    chunks = chunk_counts(query_lengths, document_lengths, chunk_ratio)
    chunk_starts, chunk_lengths = _split(document_starts, document_lengths, chunks)
    query_rows = _rows(query_tokens, query_starts.repeat(chunks), query_lengths.repeat(chunks))
    chunk_rows = _rows(document_tokens, chunk_starts, chunk_lengths)
    if symmetric:
        return Bitext(*_stack(query_rows, chunk_rows), *_stack(chunk_rows, query_rows))
    return Bitext(*query_rows, *chunk_rows)


def chunk_counts(
    query_lengths: NDArray[np.int64], document_lengths: NDArray[np.int64], chunk_ratio: float
) -> NDArray[np.int64]:
    """Return the number of chunks of each document, |D| / (ratio · |Q|), rounded, at least 1.

    Args:
        query_lengths: (pairs,) int64, in tokens, at least 1.
        document_lengths: (pairs,) int64, in tokens, at least 1.
        chunk_ratio: length of a chunk relative to its query's length.

    Returns:
        (pairs,) int64, at most the document's length, so that no chunk is empty.
    """
    wanted = np.floor(document_lengths / (chunk_ratio * query_lengths) + 0.5)
    return np.clip(wanted, 1, document_lengths).astype(np.int64)


def concatenated_ranges(
    starts: NDArray[np.integer], lengths: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return the concatenated ranges [start, start + length).

    Args:
        starts: first value of each range, (ranges,).
        lengths: number of values of each range, (ranges,).

    Returns:
        (sum of lengths,) int64.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    shift = starts - (ends - lengths)  # (ranges,) difference of a value to its running number
    return np.repeat(shift, lengths) + np.arange(total, dtype=np.int64)


def _flatten(
    sequences: Sequence[NDArray[np.integer]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all tokens in one array and the length of each sequence."""
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    filled = [np.asarray(sequence) for sequence in sequences if len(sequence)]
    if not filled:
        return np.empty(0, np.int32), lengths
    if any(s.ndim != 1 or s.dtype.kind not in "iu" for s in filled):
        raise InputError(_TOKENS)
    tokens = np.concatenate(filled)
    if tokens.min() < 0 or tokens.max() > np.iinfo(np.int32).max:
        raise InputError(_TOKENS)
    return tokens.astype(np.int32), lengths


def _most_frequent(tokens: NDArray[np.int32], limit: int) -> NDArray[np.int32]:
    """Return the `limit` most frequent types, ascending."""
    types, counts = np.unique(tokens, return_counts=True)
    if len(types) <= limit:
        return types
    best = np.argsort(-counts, kind="stable")[:limit]  # stable, so the lower id wins a tie
    return np.sort(types[best])


def _keep(
    tokens: NDArray[np.int32], lengths: NDArray[np.int64], vocabulary: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Drop the tokens that are not in the vocabulary; return the rest and the new lengths."""
    mask = np.isin(tokens, vocabulary)
    row = np.arange(len(lengths)).repeat(lengths)
    return tokens[mask], np.bincount(row[mask], minlength=len(lengths))


def _split(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], chunks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and lengths of chunks. Lengths within a row differ by at most one token."""
    number = concatenated_ranges(np.zeros_like(chunks), chunks)  # 0, 1, … within each row
    length, parts = lengths.repeat(chunks), chunks.repeat(chunks)
    begin, end = number * length // parts, (number + 1) * length // parts
    return starts.repeat(chunks) + begin, end - begin


def _rows(
    tokens: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return tokens and offsets of the rows that begin at `starts`; rows may be repeated."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return tokens[concatenated_ranges(starts, lengths)], offsets


def _stack(
    above: tuple[NDArray[np.int32], NDArray[np.int64]],
    below: tuple[NDArray[np.int32], NDArray[np.int64]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows of both; the rows of `above` come first."""
    tokens = np.concatenate([above[0], below[0]])
    return tokens, np.concatenate([above[1], below[1][1:] + above[1][-1]])
