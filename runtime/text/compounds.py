"""Tell words from the compounds that follow them: getUserName is get, user, name and itself."""

from collections.abc import Iterable, Iterator

Placed = tuple[int, int, str]  # begin and end in a text, and the word


def parts(placed: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the words of a text without compounds, which follow their parts and span them.

    >>> [word for _, _, word in parts([(0, 1, "c"), (0, 3, "c++"), (4, 8, "code")])]
    ['c', 'code']
    """
    begin = end = 0
    for each in placed:
        if each[0] <= begin and each[1] >= end and each[1] - each[0] > end - begin > 0:
            continue
        begin, end = each[:2]
        yield each


def only_word(placed: Iterable[Placed]) -> str | None:
    """Return the word that spans all others, or None if there is none.

    >>> only_word([(0, 1, "c"), (0, 3, "c++")]), only_word([(0, 1, "a"), (2, 3, "b")])
    ('c++', None)
    """
    every = list(placed)
    begin = min((each[0] for each in every), default=0)
    end = max((each[1] for each in every), default=0)
    spanning = [word for *span, word in every if span == [begin, end]]
    return spanning[0] if len(spanning) == 1 else None
