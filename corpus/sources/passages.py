"""Split long texts into passages of whole sentences."""

import string

from ranklet.runtime.text.sentences import Sentence, sentences, word_pattern

_OF_WORDS = f"{string.ascii_letters}{string.digits}_".encode()


def passages(text: str, words: int, overlap: int) -> list[str]:
    """Return a text as passages of whole sentences, which are parts of it and cover all of it.

    The passages of a text have about the same length. A sentence that is longer than a passage is
    cut between words.

    >>> passages("One two. Three four. Five six.", 4, 2)
    ['One two. Three four.', 'Three four. Five six.']
    >>> passages("One two. Three four. Five six.", 4, 0)
    ['One two. Three four.', 'Five six.']

    Args:
        text: any text.
        words: longest passage, in words; 0 returns the text as it is.
        overlap: how much of a passage begins the next one: whole sentences of at most so many
            words, and at most half of `words`.
    """
    if not words or _most(text) <= words or len(word_pattern(text).findall(text)) <= words:
        return [text]
    parts = list(sentences(text, words))
    total = sum(part.words for part in parts)
    size = balanced(total, words, overlap)
    chosen: list[list[Sentence]] = [[]]
    length = fresh = 0  # words of the last passage, and those that no earlier passage has
    for part in parts:
        if fresh and (length + part.words > words or length >= size):
            chosen.append(_tail(chosen[-1], overlap, words - part.words))
            length, fresh = sum(each.words for each in chosen[-1]), 0
        chosen[-1].append(part)
        length, fresh = length + part.words, fresh + part.words
    return [text[each[0].begin : each[-1].end].strip() for each in chosen]


def _most(text: str) -> int:
    """Return how many words a text has at most, in a tenth of the time of counting them.

    >>> _most("a-b c"), _most("a字b")
    (3, 3)
    """
    plain = text.encode("ascii", "ignore")
    between = plain.translate(None, _OF_WORDS)
    return len(between) + 1 + 2 * (len(text) - len(plain))  # another letter may divide two words


def balanced(total: int, words: int, overlap: int) -> int:
    """Return the length at which equally long passages are the fewest that suffice.

    >>> balanced(210, 200, 0), balanced(400, 200, 0)
    (105, 200)
    """
    count = -(-(total - overlap) // (words - overlap))
    return -(-(total + (count - 1) * overlap) // count)


def _tail(passage: list[Sentence], overlap: int, room: int) -> list[Sentence]:
    """Return the last sentences that have at most `overlap` words and fit into `room` words."""
    count = taken = 0
    for part in reversed(passage):
        if taken + part.words > min(overlap, room):
            break
        taken, count = taken + part.words, count + 1
    return passage[len(passage) - count :]
