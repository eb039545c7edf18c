"""Tell words from the compounds that follow them: getUserName is get, user, name and itself."""

from collections.abc import Iterable

Placed = tuple[int, int, str]  # begin and end in a text, and the word


def parts(placed: Iterable[Placed], *, signs: bool = False, names: bool = False) -> list[Placed]:
    """Return the words of a text without compounds, which follow their parts and span them.

    >>> code = [(0, 1, "c"), (0, 3, "c++"), (4, 5, "x"), (6, 7, "y"), (4, 7, "x.y")]
    >>> [[word for *_, word in parts(code, signs=signs)] for signs in (False, True)]
    [['c', 'x', 'y'], ['c++', 'x', 'y']]

    Args:
        placed: the words with their places.
        signs: whether a word with a sign replaces the only part that it has.
        names: whether a name in camel case replaces its parts.
    """
    kept: list[Placed] = []
    for each in placed:
        begin, end, _ = kept[-1] if kept else (0, 0, "")
        if each[0] <= begin and each[1] >= end and each[1] - each[0] > end - begin > 0:
            if names and each[2].replace("'", "").isalnum():
                while kept and kept[-1][0] >= each[0]:
                    kept.pop()
                kept.append(each)
            elif signs and (len(kept) == 1 or kept[-2][0] < each[0]):
                kept[-1] = each
        else:
            kept.append(each)
    return kept


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
