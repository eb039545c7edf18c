"""Store the token ids of every document, so that rescoring tokenises no document."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.storage.block_array import fetch_rows, mapped

_FEW_TERMS = 64  # a pass per term is faster than a search per token
_LARGEST = 16 << 20  # bytes; more than any array needed for rescoring a thousand documents


class Gathered(NamedTuple):
    """The concatenated tokens of some documents."""

    tokens: NDArray[np.integer]  # (tokens,)
    lengths: NDArray[np.int64]  # number of tokens in each document, (documents,)

    @property
    def owner(self) -> NDArray[np.intp]:
        """The document (0, 1, …) of each token, ascending, (tokens,); computed on each access."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def frequencies(self, terms: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return how often each term occurs in each document, (terms, documents) float32.

        >>> Gathered(np.array([7, 8, 7, 9]), np.array([3, 1])).frequencies(np.array([7])).tolist()
        [[2.0, 0.0]]
        """
        if len(terms) > _FEW_TERMS:
            return self._frequencies_of_many(terms)
        owner, frequencies = self.owner, np.zeros((len(terms), len(self.lengths)), np.float32)
        for row, term in zip(frequencies, terms.tolist(), strict=True):
            row[:] = np.bincount(owner[self.tokens == term], minlength=len(self.lengths))
        return frequencies

    def _frequencies_of_many(self, terms: NDArray[np.integer]) -> NDArray[np.float32]:
        """Do the same in one pass over the tokens, instead of one pass per term."""
        distinct, row_of = np.unique(terms, return_inverse=True)
        rows, documents = np.searchsorted(distinct, self.tokens), len(self.lengths)
        meant = distinct.take(rows, mode="clip") == self.tokens
        places = rows[meant] * documents + self.owner[meant]
        counts = np.bincount(places, minlength=len(distinct) * documents)
        return counts.reshape(len(distinct), documents)[row_of].astype(np.float32)


class Forward:
    """Token ids by document, in memory or memory-mapped.

    Args:
        offsets: tokens of document d are at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        tokens: token ids in text order, (tokens,) uint16 or int32.
    """

    def __init__(self, offsets: NDArray[np.int64], tokens: NDArray[np.integer]) -> None:
        self.offsets, self.tokens = offsets, tokens
        self._data = np.ascontiguousarray(mapped(tokens)).data
        _keep_freed_memory()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each document, (documents,) int64."""
        return np.diff(self.offsets)

    def gather(self, documents: NDArray[np.integer]) -> Gathered:
        """Return the tokens of some documents, in the order of `documents`.

        >>> forward = Forward(np.array([0, 2, 2, 3]), np.array([7, 8, 9], np.int32))
        >>> gathered = forward.gather(np.array([2, 0]))
        >>> gathered.tokens.tolist(), gathered.owner.tolist(), gathered.lengths.tolist()
        ([9, 7, 8], [0, 1, 1], [1, 2])
        """
        fetch_rows(documents, ragged=[(self.offsets, self.tokens)])
        begin = self.offsets[documents]
        end = self.offsets[documents.astype(np.intp) + 1]
        lengths = end - begin
        if len(lengths) and lengths.min() < 0:
            raise damaged("token offsets decrease")
        # Joining slices copies whole documents, in half the time of indexing every token.
        spans = zip(begin.tolist(), end.tolist(), strict=True)
        joined = b"".join([self._data[first:last] for first, last in spans])
        tokens = np.frombuffer(joined, self.tokens.dtype)
        if len(tokens) != lengths.sum():  # a slice past the end is shorter
            raise damaged("token offsets lie past the last token")
        return Gathered(tokens, lengths)


def _keep_freed_memory() -> None:
    """Make the C library keep up to 32 MB of freed memory for the next call.

    glibc returns the end of its heap to the system as soon as twice the largest block that was ever
    unmapped is free there (mallopt(3), M_TRIM_THRESHOLD). Rescoring then faults in the same pages
    for every query, which takes 40% of its time. Allocating and dropping one larger block, whose
    pages are never touched, raises that limit. It affects only speed, and no other C library.
    """
    np.empty(_LARGEST, np.uint8)
