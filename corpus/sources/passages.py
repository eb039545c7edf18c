"""Split long texts into passages of whole sentences."""

import string
from collections.abc import Iterator
from itertools import pairwise

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.headings import Headings, Outline
from ranklet.runtime.bundles.location import Location, with_headings
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.text.sentences import Sentence, count_words, sentences, word_pattern

_OF_WORDS = f"{string.ascii_letters}{string.digits}_".encode()


def located(document: Document, splitting: Splitting) -> Iterator[Document]:
    """Yield a document, or its passages, which know where they stand in it.

    The title of a passage has the headings that it stands under, so all rankers read them.
    """
    text, headings = document.text, document.headings
    if headings != ():
        document = document._replace(headings=())
    if not splitting.words or _most(text) <= splitting.words:
        yield document
        return
    after = 0
    places = [
        _stripped(text, begin + first, begin + last)
        for begin, end in sections(text, splitting.words, headings)
        for first, last in cuts(text[begin:end], *splitting)
    ]
    if len(places) == 1:
        yield document
        return
    outline = Outline(headings)
    for begin, end in places:
        heading = outline.main_heading(begin, end, document.title)
        location = Location(begin, text[after:begin], heading)
        title = with_headings(document.title, heading)
        yield document._replace(title=title, text=text[begin:end], location=location.stored())
        after = max(after, end)


def sections(text: str, words: int, headings: Headings) -> list[tuple[int, int]]:
    """Return the parts of a text that are split apart, so that a heading begins a passage.

    Sections that follow each other are one part while they fit into a passage.

    >>> from ranklet.corpus.collections.headings import Heading
    >>> found = [Heading(0, 1, "A"), Heading(2, 2, "B"), Heading(9, 2, "C"), Heading(14, 2, "D")]
    >>> sections("A B one. C two D three", 5, found), sections("A B one.", 5, found[:2])
    ([(0, 14), (14, 22)], [(0, 8)])

    Args:
        text: any text.
        words: longest passage, in words; 0 for no passages.
        headings: those of the text.
    """
    if not headings or not words or count_words(text) <= words:
        return [(0, len(text))]
    begins, bare = [0], False  # whether the last section has nothing but its heading so far
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        if heading.start and not bare:
            begins.append(heading.start)
        end = after.start if after else len(text)
        bare = text[heading.start : end].strip() == heading.text
    found, room = list[tuple[int, int]](), 0
    for begin, end in pairwise([*begins, len(text)]):
        count = count_words(text[begin:end])
        if found and count <= room:
            found[-1] = (found[-1][0], end)
            room -= count
        else:
            found.append((begin, end))
            room = words - count
    return found


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
    return [text[begin:end] for begin, end in cuts(text, words, overlap)]


def cuts(text: str, words: int, overlap: int) -> list[tuple[int, int]]:
    """Return where the passages of a text begin and end; see `passages`."""
    if not words or len(word_pattern(text).findall(text)) <= words:
        return [(0, len(text))]
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
    return [_stripped(text, each[0].begin, each[-1].end) for each in chosen]


def _stripped(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a part of a text without white space at its begin and end."""
    part = text[begin:end]
    begin += len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())


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
