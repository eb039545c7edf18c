"""Forward store: the token ids of every document, so that rescoring tokenises no document."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError

_LARGEST = 16 << 20  # bytes; more than any array that rescoring a thousand documents makes


class Gathered(NamedTuple):
    """The tokens of some documents, end to end."""

    tokens: NDArray[np.integer]  # (tokens,)
    lengths: NDArray[np.int64]  # tokens in each document, (documents,)

    @property
    def owner(self) -> NDArray[np.intp]:
        """Which of the documents each token is of, ascending, (tokens,); made when asked for."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


class Forward:
    """Token ids by document, in memory or memory-mapped.

    Args:
        offsets: tokens of document d are at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        tokens: token ids in text order, (tokens,) uint16 or int32.
    """

    def __init__(self, offsets: NDArray[np.int64], tokens: NDArray[np.integer]) -> None:
        self.offsets, self.tokens = offsets, tokens
        self._data = np.ascontiguousarray(tokens).data
        _keep_freed_memory()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def gather(self, documents: NDArray[np.integer]) -> Gathered:
        """Return the tokens of some documents, in the order in which those are named.

        >>> forward = Forward(np.array([0, 2, 2, 3]), np.array([7, 8, 9], np.int32))
        >>> gathered = forward.gather(np.array([2, 0]))
        >>> gathered.tokens.tolist(), gathered.owner.tolist(), gathered.lengths.tolist()
        ([9, 7, 8], [0, 1, 1], [1, 2])
        """
        begin = self.offsets[documents]
        end = self.offsets[documents.astype(np.intp) + 1]
        lengths = end - begin
        if len(lengths) and lengths.min() < 0:
            raise BundleError("token offsets go backwards: the bundle is damaged; run verify on it")
        # Joined slices copy a document at a time, in half the time of an index for every token.
        spans = zip(begin.tolist(), end.tolist(), strict=True)
        joined = b"".join([self._data[first:last] for first, last in spans])
        tokens = np.frombuffer(joined, self.tokens.dtype)
        if len(tokens) != lengths.sum():  # a slice past the end is cut short
            raise BundleError(
                "token offsets lead past the tokens: the bundle is damaged; run verify on it"
            )
        return Gathered(tokens, lengths)


def _keep_freed_memory() -> None:
    """Have the C library keep up to 32 MB of freed memory for the next call.

    glibc gives the end of its heap back as soon as twice the largest block that was ever unmapped
    is free there (mallopt(3), M_TRIM_THRESHOLD). Rescoring then faults the same pages in again for
    every query, which is 40% of its time. Making and dropping one larger block, whose pages are
    never touched, raises that limit. It matters to speed alone, and to no other C library.
    """
    np.empty(_LARGEST, np.uint8)
