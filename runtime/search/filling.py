"""Choose parts of documents that fit into a budget of tokens, and join those that touch."""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ranklet.runtime.bundles.location import Location, joined
from ranklet.runtime.search.near_duplicates import Folding

_WORD = re.compile(r"\w+")
_ENTRY = re.compile(r"^[ \t]*(?:[-*+•·–]|\(?\d{1,3}[.)])[ \t]+(?=\S)", re.MULTILINE)
_BLOCK = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_FEWEST, _SHORT = 3, 200  # entries of a list, and the characters of one without a mark


class Piece(NamedTuple):
    """A passage, or a part of one.

    Attributes:
        start: its first character in the text of its document.
        text: its text.
        before: the white space before it that no passage has.
        heading: the headings that it stands under.
        place: among all passages, best first; None for one that was not found but lies near.
    """

    start: int
    text: str
    before: str = ""
    heading: tuple[str, ...] = ()
    place: int | None = None

    @property
    def end(self) -> int:
        """The character after the last one."""
        return self.start + len(self.text)


def merged(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Return pieces of a document in its order, those that overlap or touch together.

    >>> parts = [Piece(9, "Three."), Piece(0, "One."), Piece(4, "Two.", " ")]
    >>> [[each.text for each in group] for group in merged(parts)]
    [['One.', 'Two.'], ['Three.']]
    """
    groups, end = list[list[Piece]](), -1
    for piece in sorted(pieces, key=lambda each: each.start):
        if groups and piece.start - len(piece.before) <= end:
            groups[-1].append(piece)
        else:
            groups.append([piece])
            end = -1
        end = max(end, piece.end)
    return groups


def join_text(group: Sequence[Piece]) -> str:
    """Return the text of pieces that follow each other, no character twice."""
    return joined((Location(each.start, each.before), each.text) for each in group)


def unseen(piece: Piece, others: Sequence[Piece]) -> str:
    """Return what a piece has that no other one of its document has.

    >>> unseen(Piece(5, "Two. Three."), [Piece(0, "One. Two.")])
    ' Three.'
    """
    begin = max((each.end for each in others if each.start <= piece.start), default=piece.start)
    end = min((each.start for each in others if each.start > piece.start), default=piece.end)
    return piece.text[max(0, begin - piece.start) : max(0, end - piece.start)]


@dataclass
class Filling:
    """Parts of documents that are chosen one after another, until the budget is spent.

    Attributes:
        count: returns how many tokens a text has.
        left: tokens that are left.
        documents: the chosen pieces of each document, by a number of it, best document first.
    """

    count: Callable[[str], int]
    left: int
    documents: dict[int, list[Piece]] = field(default_factory=dict)
    _seen: Folding[str] = field(default_factory=Folding)
    _last: list[tuple[int, Piece]] = field(default_factory=list)

    def repeats(self, text: str) -> bool:
        """Return whether a text is a near duplicate of an earlier one."""
        return self._seen.add(frozenset(_WORD.findall(text.lower()))) is not None

    def add(self, document: int, piece: Piece, label: str) -> bool:
        """Add a piece if it fits.

        Args:
            document: a number of its document.
            piece: the piece.
            label: what stands before a part of that document.
        """
        others = self.documents.get(document, [])
        new = unseen(piece, others)
        if not new:
            return True
        touches = len(merged([*others, piece])) <= len(merged(others)) if others else False
        cost = self.count(new) + (0 if touches else self.count(label))
        if cost > self.left:
            return False
        insort(self.documents.setdefault(document, []), piece, key=lambda each: each.start)
        self._last.append((document, piece))
        self.left -= cost
        return True

    def drop_last(self) -> None:
        """Take back the piece that was added last."""
        document, piece = self._last.pop()
        self.documents[document].remove(piece)
        if not self.documents[document]:
            del self.documents[document]


def split_list(text: str) -> list[tuple[int, int]]:
    r"""Return where the entries of a list begin and end; nothing for a text that is no list.

    Entries begin with a mark or a number, or are short paragraphs that end as no sentence does.

    >>> split_list("Tools:\n- an axe\n- a saw\n- a file"), split_list("One. Two. Three.")
    ([(0, 6), (7, 15), (16, 23), (24, 32)], [])
    """
    begins = [found.start() for found in _ENTRY.finditer(text)]
    if len(begins) < _FEWEST:
        begins = [found.start() for found in _BLOCK.finditer(text)]
        entries = [text[begin:end].strip() for begin, end in pairwise([*begins, len(text)])]
        listed = [each for each in entries if len(each) <= _SHORT and each[-1:] not in ".!?…。"]
        if len(entries) < _FEWEST or 2 * len(listed) <= len(entries):
            return []
    ends = pairwise([*dict.fromkeys([0, *begins]), len(text)])
    return [(begin, begin + len(text[begin:end].rstrip())) for begin, end in ends]


def best_part(
    sentences: Sequence[tuple[int, int, int]], places: Sequence[tuple[int, int]], room: int
) -> tuple[int, int] | None:
    """Return where those sentences begin and end that fit and have the most words of a query.

    >>> best_part([(0, 5, 1), (5, 10, 1), (10, 20, 3)], [(6, 8), (12, 13)], 4)
    (5, 20)

    Args:
        sentences: of each the first character, the one after the last, and its tokens.
        places: where words of the query stand, as (begin, end), ascending.
        room: how many tokens fit.
    """
    begins = [begin for begin, _ in places]
    found = [bisect_left(begins, end) - bisect_left(begins, begin) for begin, end, _ in sentences]
    best, most, first, size, hits = None, (-1, 0), 0, 0, 0
    for last, (_, end, tokens) in enumerate(sentences):
        size, hits = size + tokens, hits + found[last]
        while size > max(0, room):
            size, hits = size - sentences[first][2], hits - found[first]
            first += 1
        if first <= last and (hits, size) > most:
            most, best = (hits, size), (sentences[first][0], end)
    return best
