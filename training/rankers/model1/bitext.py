"""The parallel corpus of Model 1: queries beside chunks of their relevant documents.

IBM Model 1 aligns short sentences. A document is far longer than a query, so Boytsov & Kolter
(2021, §3) cut it into contiguous chunks about as long as the query and pair the query with each.
Jeon, Croft & Lee (2005) then pool both directions, query ← chunk and chunk ← query, to learn one
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
    """Sentence pairs in compressed rows; no row is empty on either side.

    Attributes:
        target_tokens: (target positions,) int32 token ids, pair after pair: what is generated.
        target_offsets: (pairs + 1,) int64; pair i owns target_tokens[offsets[i]:offsets[i + 1]].
        source_tokens: (source positions,) int32 token ids: what generates.
        source_offsets: (pairs + 1,) int64.

    Raises:
        InputError: If the offsets do not fit the tokens, a row is empty or an id is negative.
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
                raise InputError(f"every {side} row of a bitext needs a token; one has none")
            if len(tokens) and tokens.min() < 0:
                raise InputError(f"{side} token ids must not be negative; got {tokens.min()}")

    def __len__(self) -> int:
        """Number of sentence pairs."""
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
    """Pair each query with the chunks of the document beside it.

    Documents are cut first, rare tokens dropped second, and what remains is split into chunks, so
    that a chunk's length counts only tokens that take part. A pair whose query or document has
    nothing left is skipped.

    Args:
        queries: Token ids of each query, arrays (query tokens,).
        documents: Token ids of a document relevant to the query at the same place.
        max_tokens: Token types kept, the most frequent in queries and cut documents together;
            of equally frequent types the lower id is kept.
        max_document_tokens: Tokens kept from the start of each document.
        chunk_ratio: Wanted length of a chunk as a multiple of its query's length.
        symmetric: Whether the direction chunk ← query is added to query ← chunk.

    Returns:
        First the pairs with the query as target, in the order given and chunk after chunk; then,
        if symmetric, the same pairs with the sides changed.

    Raises:
        InputError: If the lists differ in length, an option is not positive, a sequence holds
            something other than token ids, or no pair is left.
    """
    if len(queries) != len(documents):
        raise InputError(
            f"each query needs the document it is aligned with; got {len(queries)} queries "
            f"and {len(documents)} documents"
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
    kept = _most_frequent(np.concatenate([query_tokens, document_tokens]), max_tokens)
    query_tokens, query_lengths = _keep(query_tokens, query_lengths, kept)
    document_tokens, document_lengths = _keep(document_tokens, document_lengths, kept)

    usable = (query_lengths > 0) & (document_lengths > 0)
    if not usable.any():
        raise InputError(
            "no pair has a token left on both sides; give at least one query with a document "
            "that share the kept vocabulary"
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
    """Into how many chunks each document is split: |D| / (ratio · |Q|), rounded, at least 1.

    Args:
        query_lengths: (pairs,) int64, in tokens, at least 1.
        document_lengths: (pairs,) int64, in tokens, at least 1.
        chunk_ratio: Wanted length of a chunk over the length of its query.

    Returns:
        (pairs,) int64, at most the document's length, so that no chunk is empty.
    """
    wanted = np.floor(document_lengths / (chunk_ratio * query_lengths) + 0.5)
    return np.clip(wanted, 1, document_lengths).astype(np.int64)


def concatenated_ranges(
    starts: NDArray[np.integer], lengths: NDArray[np.integer]
) -> NDArray[np.int64]:
    """The ranges [start, start + length) one after another.

    Args:
        starts: (ranges,) first value of each.
        lengths: (ranges,) number of values of each.

    Returns:
        (sum of lengths,) int64.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    shift = starts - (ends - lengths)  # (ranges,) what a running number lacks to be in its range
    return np.repeat(shift, lengths) + np.arange(total, dtype=np.int64)


def _flatten(
    sequences: Sequence[NDArray[np.integer]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All tokens in one array, and the length of each sequence."""
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
    """The `limit` most frequent types, ascending."""
    types, counts = np.unique(tokens, return_counts=True)
    if len(types) <= limit:
        return types
    best = np.argsort(-counts, kind="stable")[:limit]  # stable: the lower id wins a tie
    return np.sort(types[best])


def _keep(
    tokens: NDArray[np.int32], lengths: NDArray[np.int64], kept: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Drop the tokens that are not in `kept`, and count each sequence anew."""
    mask = np.isin(tokens, kept)
    row = np.arange(len(lengths)).repeat(lengths)
    return tokens[mask], np.bincount(row[mask], minlength=len(lengths))


def _split(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], chunks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and lengths of the chunks: a row's chunks differ in length by one token at most."""
    number = concatenated_ranges(np.zeros_like(chunks), chunks)  # 0, 1, … within each row
    length, parts = lengths.repeat(chunks), chunks.repeat(chunks)
    begin, end = number * length // parts, (number + 1) * length // parts
    return starts.repeat(chunks) + begin, end - begin


def _rows(
    tokens: NDArray[np.int32], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Tokens and offsets of the rows that begin at `starts`; a row may be taken often."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return tokens[concatenated_ranges(starts, lengths)], offsets


def _stack(
    above: tuple[NDArray[np.int32], NDArray[np.int64]],
    below: tuple[NDArray[np.int32], NDArray[np.int64]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows of both, one set after the other."""
    tokens = np.concatenate([above[0], below[0]])
    return tokens, np.concatenate([above[1], below[1][1:] + above[1][-1]])
