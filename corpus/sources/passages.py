"""Split long texts into passages of whole sentences."""

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

# Where no spaces separate words, letters are counted: two Chinese or Japanese characters, or three
# letters with their marks of Thai, Lao, Burmese or Khmer, are about a word.
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_THAI_TO_KHMER = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(
    rf"[{_CJK}]{{1,2}}|(?:(?=\w)[{_THAI_TO_KHMER}](?:(?!\w)[{_THAI_TO_KHMER}])*){{1,3}}"
    rf"|[^\W\u3040-\u9fff\uf900-\ufaff{_THAI_TO_KHMER}]+"
)
_ASCII_WORD = re.compile(r"\w+", re.ASCII)  # the same in ASCII texts, and faster
# A sentence ends at a mark that white space follows, at an ideographic mark, or at a blank line.
# The look-behind keeps a long row of dots from being tried at each dot.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*\s+|[。！？]+[”』」]?\s*|\n\s*\n\s*")


class Sentence(NamedTuple):
    """Part of a text: its first character, the character after the last, and its words."""

    begin: int
    end: int
    words: int


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
    if not words or len(_word(text).findall(text)) <= words:
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


def _word(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


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


def sentences(text: str, words: int = sys.maxsize) -> Iterator[Sentence]:
    """Yield the sentences of a text, which cover it; long ones are cut into parts of `words`."""
    begin = searched = 0
    last: Sentence | None = None
    word = _word(text)
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        starts = [match.start() for match in word.finditer(text, searched, end)]
        searched = end
        for first in range(0, len(starts), words):
            after = starts[first + words] if first + words < len(starts) else end
            if last is not None:
                yield last
            last = Sentence(begin, after, min(words, len(starts) - first))
            begin = after
    if last is not None:  # marks without a word belong to the next sentence, or to the last one
        yield last._replace(end=len(text))
