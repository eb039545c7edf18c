"""Sentences of a text, and a text from the passages of whole sentences that it was split into."""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

# Where no spaces separate words, letters are counted: two Chinese or Japanese characters, or three
# letters with their marks of Thai, Lao, Burmese or Khmer, are about a word.
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_THAI_TO_KHMER = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(
    rf"[{_CJK}]{{1,2}}|(?:(?=\w)[{_THAI_TO_KHMER}](?:(?!\w)[{_THAI_TO_KHMER}])*){{1,3}}"
    rf"|[^\W\u3040-\u9fff\uf900-\ufaff{_THAI_TO_KHMER}]+"
)
# The same, and faster, in ASCII texts and in texts without any of these letters.
_ASCII_WORD, _SPACED_WORD = re.compile(r"\w+", re.ASCII), re.compile(r"\w+")
_UNSPACED = re.compile(rf"[\u3040-\u9fff\uf900-\ufaff{_THAI_TO_KHMER}]")
# A sentence ends at a mark that white space follows, at an ideographic mark, or at a blank line.
# The look-behind keeps a long row of dots from being tried at each dot.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*\s+|[。！？]+[”』」]?\s*|\n\s*\n\s*")


class Sentence(NamedTuple):
    """Part of a text: its first character, the character after the last, and its words."""

    begin: int
    end: int
    words: int


def word_pattern(text: str) -> re.Pattern[str]:
    """Return what finds the words of a text."""
    if text.isascii():
        return _ASCII_WORD
    return _WORD if _UNSPACED.search(text) else _SPACED_WORD


def count_words(text: str) -> int:
    """Return how many words a text has, as the length of passages is counted."""
    return len(word_pattern(text).findall(text))


def sentences(text: str, words: int = sys.maxsize) -> Iterator[Sentence]:
    """Yield the sentences of a text, which cover it; long ones are cut into parts of `words`."""
    begin = searched = 0
    last: Sentence | None = None
    word = word_pattern(text)
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


def rejoined(passages: Sequence[str], words: int, overlap: int) -> str:
    """Return the text that was split into passages, without what each repeats of the one before.

    White space between two passages becomes a single space.

    >>> rejoined(["One two. Three four.", "Three four. Five six."], 4, 2)
    'One two. Three four. Five six.'

    Args:
        passages: in their order.
        words: of the longest passage.
        overlap: how many words of the one before a passage may repeat; 0 for none.
    """
    parts = list(passages[:1])
    for before, passage in pairwise(passages):
        parts.append(_added(before, passage, words if overlap else 0))
    return "".join(parts)


def _added(before: str, passage: str, words: int) -> str:
    """Return what a passage adds to the one before it, whose last sentences it may repeat."""
    for part in sentences(before, words) if words else ():
        if passage.startswith(before[part.begin :]):
            return passage[len(before) - part.begin :]
    return f" {passage}"
