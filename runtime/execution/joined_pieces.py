"""Join the word pieces of an explanation into words, because people do not know word pieces.

A ranker over word pieces explains its score by pairs of them, such as `char → ##pace`. Amounts of
the pieces of a query word are added up. The amount of a document piece is shared by the places of
the piece, as `highlight` does, and then belongs to the words at these places. All sums stay as they
are.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.text.analysis import Analysis
from ranklet.runtime.text.names import FIELDS
from ranklet.runtime.text.words import word_places

_WHOLE_WORDS = ("lemmas", "words")  # fields whose tokens are words already
_COUNTED = re.compile(r"^\d+ more →")  # the label of a sum of several document tokens


class PieceWords:
    """The word pieces of a text and the word that each belongs to.

    Args:
        text: any text.
        field: the field of the pieces, as in `Explanation.source`.
        analysis: splits texts in that field.
    """

    def __init__(self, text: str, field: str, analysis: Analysis) -> None:
        placed = list(analysis.placed(text, field if field in FIELDS else "wordpieces"))
        places = word_places(text, [(begin, end) for begin, end, _ in placed])
        self.words = [
            piece if place is None else text[slice(*place)].lower()
            for (_, _, piece), place in zip(placed, places, strict=True)
        ]
        self._at: dict[str, list[int]] = defaultdict(list)  # the numbers of each piece
        for number, (_, _, piece) in enumerate(placed):
            self._at[piece].append(number)
        of_words = [place for place in places if place is not None]
        self.splits = len(set(of_words)) < len(of_words)  # whether any word has several pieces

    def list_words(self, piece: str) -> list[str]:
        """Return the words that have a piece, or the piece itself if the text does not have it."""
        return list(dict.fromkeys(self.words[at] for at in self._at.get(piece, ()))) or [piece]

    def locate_pieces(self, branch: Explanation, read: ReadSpans) -> tuple[tuple[int, float], ...]:
        """Return the places of a document piece that were read, and the amount of each."""
        if branch.pieces:
            return branch.pieces
        if branch.source is None:
            return ()
        numbers = self._at.get(branch.source[1], ())
        places = [at for at in numbers if any(begin <= at < end for begin, end in read.spans)]
        return tuple((at, branch.value / len(places)) for at in places)


def join_pieces(
    explanation: Explanation, query: str, document: Candidates, analysis: Analysis
) -> Explanation:
    """Return a ranker's explanation with words in place of pieces of words.

    Args:
        explanation: a ranker's explanation; it is returned as it is if it does not name any piece
            of a word.
        query: the query's text.
        document: the explained document alone.
        analysis: splits texts into the ranker's pieces.
    """
    field = next(_fields(explanation), "words")
    if field in _WHOLE_WORDS:
        return explanation
    of_query, of_document = (
        PieceWords(text, field, analysis) for text in (query, document.texts[0])
    )
    if not (of_query.splits or of_document.splits):
        return explanation
    read = explanation.read or ReadSpans(field, ((0, len(of_document.words)),))
    return replace(_join_branch(explanation, read, of_query, of_document), read=read)


def _fields(branch: Explanation) -> Iterator[str]:
    """Yield the field of every query token."""
    if branch.query_token is not None:
        yield branch.query_token[0]
    for part in branch.parts:
        yield from _fields(part)


def _join_branch(
    branch: Explanation, read: ReadSpans, of_query: PieceWords, of_document: PieceWords
) -> Explanation:
    read = branch.read or read
    by_word: dict[str, list[Explanation]] = defaultdict(list)
    others = []
    for part in branch.parts:
        if part.query_token is None:
            others.append(_join_branch(part, read, of_query, of_document))
            continue
        words = of_query.list_words(part.query_token[1])
        for word in words:
            by_word[word].append(part.scaled(1 / len(words), part.label))
    if not branch.parts:
        return branch
    parts = [_of_word(word, same, read, of_document) for word, same in by_word.items()]
    total = Explanation.total(branch.label, [*parts, *others])
    return replace(branch, value=total.value, parts=total.parts)


def _of_word(
    word: str, parts: Iterable[Explanation], read: ReadSpans, of_document: PieceWords
) -> Explanation:
    """Return one part for the pieces of a query word."""
    first, *more = parts
    field, piece = first.query_token or ("", "")
    label = first.label if piece == word and not more else word
    inner: dict[str, list[Explanation]] = defaultdict(list)
    for part in (first, *more):
        spelling = part.query_token[1] if part.query_token else ""
        for leaf in part.parts or (part,):
            for each in _by_document_word(leaf, read, of_document):
                inner[_name_word(each.label, spelling, word)].append(each)
    merged = [_merge_leaves(name, same) for name, same in inner.items()]
    token = (field, word)
    if len(merged) == 1 and not first.parts and merged[0].label == label:
        return replace(merged[0], query_token=token)
    return replace(Explanation.total(label, merged), query_token=token)


def _by_document_word(
    leaf: Explanation, read: ReadSpans, of_document: PieceWords
) -> Iterator[Explanation]:
    """Yield a leaf once per word of the document that its piece belongs to."""
    pieces = of_document.locate_pieces(leaf, read)
    if leaf.source is None or not pieces:
        yield leaf
        return
    field, spelling = leaf.source
    by_word: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for at, amount in pieces:
        by_word[of_document.words[at] if at < len(of_document.words) else spelling].append(
            (at, amount)
        )
    for word, own in by_word.items():
        label = word + leaf.label.removeprefix(spelling)
        yield Explanation(
            label, sum(amount for _, amount in own), source=(field, word), pieces=tuple(own)
        )


def _name_word(label: str, piece: str, word: str) -> str:
    """Return the label of a pair with the query's word in place of its piece."""
    if not label.endswith(f"→ {piece}"):
        return label
    return _COUNTED.sub("others →", label.removesuffix(piece) + word)


def _merge_leaves(label: str, same: list[Explanation]) -> Explanation:
    """Return leaves of one label as one."""
    amounts: dict[int, float] = defaultdict(float)
    for leaf in same:
        for at, amount in leaf.pieces:
            amounts[at] += amount
    value = float(sum(leaf.value for leaf in same))
    return Explanation(label, value, source=same[0].source, pieces=tuple(sorted(amounts.items())))
