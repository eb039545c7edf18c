"""Split a long document into spans of word pieces, each of which is read with the query."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from ranklet.runtime.text.lexicon import Word

Span = tuple[int, int]  # the first piece and the piece after the last


def piece_chunks(length: int, size: int, most: int) -> list[Span]:
    """Return contiguous chunks (MacAvaney et al. 2019, CEDR, §3, and Boytsov & Kolter, §3).

    Boytsov & Kolter reads three chunks, which are the first 1,431 pieces.

    >>> piece_chunks(5, 2, 3), piece_chunks(5, 2, 2), piece_chunks(0, 2, 2)
    ([(0, 2), (2, 4), (4, 5)], [(0, 2), (2, 4)], [(0, 0)])

    Args:
        length: number of pieces in the document. An empty document gives one empty chunk.
        size: pieces per chunk; the last chunk may have fewer.
        most: maximum number of chunks; the rest of the document is left out.
    """
    begins = range(0, max(length, 1), size)[:most]
    return [(begin, min(begin + size, length)) for begin in begins]


def word_windows(
    begins: Sequence[int], length: int, window: int, stride: int, most: int
) -> list[Span]:
    """Return overlapping windows of words (Boualili, §7.2.3: 150 words, every 75, at most 30).

    The last window is the first one that reaches the end. If there are too many windows, the first
    and the last stay and the others are chosen evenly spaced. The paper draws them at random, but a
    score must be the same every time.

    >>> word_windows([0, 1, 3, 4, 6], 7, 2, 1, 30)
    [(0, 3), (1, 4), (3, 6), (4, 7)]
    >>> word_windows([0, 1, 3, 4, 6], 7, 2, 1, 2)
    [(0, 3), (4, 7)]

    Args:
        begins: the first piece of each word, ascending.
        length: number of pieces in the document. A document without words gives one window.
        window: words per window.
        stride: words between the beginnings of two windows.
        most: maximum number of windows.
    """
    words = len(begins)
    count = 1 + max(0, -(-(words - window) // stride))
    chosen = range(count)
    if count > most:
        chosen = [round(i * (count - 1) / max(1, most - 1)) for i in range(most)]  # type: ignore[assignment]
    edges = [0, *begins[1:], *[length] * window]  # pieces before the first word belong to it
    return [(edges[i * stride], edges[min(i * stride + window, max(words, 1))]) for i in chosen]


def within(words: Sequence[Word], spans: Iterable[Span]) -> Iterator[Word]:
    """Yield the words that lie entirely in a span; a word in two spans is yielded twice.

    Args:
        words: the words of a text, in order.
        spans: spans of the text's pieces.
    """
    for begin, end in spans:
        for word in words[bisect_left(words, begin, key=lambda word: word.begin) :]:
            if word.end > end:
                break
            yield word


def count_covered(spans: Iterable[Span]) -> int:
    """Return how many pieces are in at least one of the spans, whose beginnings ascend.

    >>> count_covered([(0, 4), (2, 5), (7, 8)])
    6
    """
    count = reached = 0
    for begin, end in spans:
        count += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return count
