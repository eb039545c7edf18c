"""A long document cut into parts, each read beside the query: spans of its word pieces."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from ranklet.runtime.text.lexicon import Word

Span = tuple[int, int]  # first piece, and the one after the last


def piece_chunks(length: int, size: int, most: int) -> list[Span]:
    """Cut into contiguous chunks (MacAvaney et al. 2019, CEDR, §3; paper 000, §3).

    Paper 000 reads three chunks, the first 1,431 pieces.

    >>> piece_chunks(5, 2, 3), piece_chunks(5, 2, 2), piece_chunks(0, 2, 2)
    ([(0, 2), (2, 4), (4, 5)], [(0, 2), (2, 4)], [(0, 0)])

    Args:
        length: pieces of the document; one without any is one empty chunk.
        size: pieces of a chunk, the last may have fewer.
        most: chunks; what follows is left out.
    """
    begins = range(0, max(length, 1), size)[:most]
    return [(begin, min(begin + size, length)) for begin in begins]


def word_windows(
    begins: Sequence[int], length: int, window: int, stride: int, most: int
) -> list[Span]:
    """Cut into overlapping windows of words (paper 001, §7.2.3: 150 words, every 75, at most 30).

    The last window is the first that reaches the end. Of too many the first and the last stay, and
    of the others as many as may, evenly spaced: the paper draws them at random, but a score must
    be the same each time.

    >>> word_windows([0, 1, 3, 4, 6], 7, 2, 1, 30)
    [(0, 3), (1, 4), (3, 6), (4, 7)]
    >>> word_windows([0, 1, 3, 4, 6], 7, 2, 1, 2)
    [(0, 3), (4, 7)]

    Args:
        begins: the piece that each word begins with, ascending.
        length: pieces of the document; one without a word is one window.
        window: words of a window.
        stride: words from a window's beginning to the next one's.
        most: windows.
    """
    words = len(begins)
    count = 1 + max(0, -(-(words - window) // stride))
    kept = range(count)
    if count > most:
        kept = [round(at * (count - 1) / max(1, most - 1)) for at in range(most)]  # type: ignore[assignment]
    edges = [0, *begins[1:], *[length] * window]  # what stands before the first word belongs to it
    return [(edges[at * stride], edges[min(at * stride + window, max(words, 1))]) for at in kept]


def within(words: Sequence[Word], spans: Iterable[Span]) -> Iterator[Word]:
    """Yield the words that lie whole in a span; in two of them, twice.

    Args:
        words: of a text, in order.
        spans: of its pieces.
    """
    for begin, end in spans:
        for word in words[bisect_left(words, begin, key=lambda each: each.begin) :]:
            if word.end > end:
                break
            yield word


def covered(spans: Iterable[Span]) -> int:
    """Return how many pieces are in any of some spans, whose beginnings ascend.

    >>> covered([(0, 4), (2, 5), (7, 8)])
    6
    """
    count = reached = 0
    for begin, end in spans:
        count += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return count
