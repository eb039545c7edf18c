"""Find the word of a text that each token belongs to, for tokens of any tokenizer."""

from bisect import bisect_right
from collections.abc import Iterable

from ranklet.runtime.text.words import placed_words


def word_places(text: str, tokens: Iterable[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """Return the place of each token's word in a text, or None for punctuation.

    A token belongs to the word of its first letter or digit. Some tokenizers let a token begin at
    the space before it.

    >>> word_places("a spreadsheet.", [(0, 1), (1, 8), (8, 13), (13, 14)])
    [(0, 1), (2, 13), (2, 13), None]

    Args:
        text: any text.
        tokens: the characters of each token, (begin, end).
    """
    words: list[tuple[int, int]] = []
    for begin, end, _ in placed_words(text):
        if not words or begin >= words[-1][1]:  # a whole begins before its last part
            words.append((begin, end))
    begins = [begin for begin, _ in words]
    places: list[tuple[int, int] | None] = []
    for begin, end in tokens:
        first = next((at for at in range(begin, end) if text[at].isalnum()), None)
        at = -1 if first is None else bisect_right(begins, first) - 1
        inside = first is not None and at >= 0 and first < words[at][1]
        places.append(words[at] if inside else None)
    return places
