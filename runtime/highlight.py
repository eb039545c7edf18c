"""Where in a text its score comes from: an explanation's amounts, laid on the characters."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.text.analysis import FIELDS, Analysis

Analyses = Callable[[str], Analysis]  # from a field, as in `Explanation.source`, to its analysis


class Span(NamedTuple):
    """Characters of a text, from `begin` to before `end`, and what they add to the score."""

    begin: int
    end: int
    value: float

    def moved(self, by: int) -> "Span":
        """Return the same, so many characters further on."""
        return Span(self.begin + by, self.end + by, self.value)


class Node(NamedTuple):
    """A branch of an explanation and where it hangs.

    Attributes:
        own: the branch.
        above: the branch that it is a part of; the root's is the root.
        asked: the number of the query's token that it is for, tokens counted from 0 in the order in
            which the tree names them; None where it is for none.
        reading: what was read of the document.
    """

    own: Explanation
    above: Explanation
    asked: int | None
    reading: ReadSpans | None


def nodes(explanation: Explanation) -> Iterator[Node]:
    """Yield every branch of an explanation, a branch before its parts."""
    count = 0
    waiting = [Node(explanation, explanation, None, None)]
    while waiting:
        own, above, asked, reading = waiting.pop()
        if own.asked is not None:
            asked, count = count, count + 1
        reading = own.reading or reading
        yield Node(own, above, asked, reading)
        waiting.extend(Node(part, own, asked, reading) for part in reversed(own.parts))


def carried(
    explanation: Explanation, text: str, analyses: Analyses
) -> list[tuple[Span, int | None]]:
    """Return what the characters of a text add for each of the query's tokens.

    A network that tells one occurrence from another says how much stands where. Otherwise a token
    that occurs several times has its amount shared equally by its places, of those that were read:
    a ranker counts its occurrences and does not tell them apart.

    Returns:
        Spans in the order of the text, and the number of the query's token, as in `Node`.
    """
    amounts: dict[tuple[str, ReadSpans | None], dict[tuple[str, int | None], float]] = defaultdict(
        lambda: defaultdict(float)
    )
    values: dict[tuple[int, int, int | None], float] = defaultdict(float)
    for node in nodes(explanation):
        if node.own.at and node.reading is not None:
            placed = _placed(text, node.reading.field, analyses)
            for piece, amount in node.own.at:
                if piece < len(placed):  # the text may be another than was explained
                    values[*placed[piece][:2], node.asked] += amount
        elif node.own.source is not None:
            field, spelling = node.own.source
            amounts[field, node.reading][spelling, node.asked] += node.own.value
    for (field, reading), by_token in amounts.items():
        places = _places(text, field, reading, analyses)
        for (spelling, asked), amount in by_token.items():
            found = places.get(spelling, ())
            for begin, end in found:
                values[begin, end, asked] += amount / len(found)
    ordered = sorted(values.items(), key=lambda each: each[0][:2])
    return [(Span(begin, end, value), asked) for (begin, end, asked), value in ordered]


def spans(explanation: Explanation, text: str, analyses: Analyses) -> list[Span]:
    """Return the characters that an explanation's tokens stand at, in the order of the text.

    Places of different fields may overlap, a word piece with its word; the values of all spans add
    up to the part of the score that has a source. How a token's amount is shared: see `carried`.
    """
    values: dict[tuple[int, int], float] = defaultdict(float)
    for (begin, end, value), _ in carried(explanation, text, analyses):
        values[begin, end] += value
    return [Span(begin, end, value) for (begin, end), value in values.items()]


def marked(explanation: Explanation, text: str, analyses: Analyses) -> list[tuple[int, int]]:
    """Return the characters of the words that were marked for a network as exact matches."""
    found = set()
    for reading in _readings(explanation):
        if not reading.stems:
            continue
        placed = _placed(text, reading.field, analyses)
        analysis = analyses(reading.field)
        pieces = analysis.tokens(text, "wordpieces").tolist()
        for word in analysis.lexicon.words(pieces):
            if word.stem in reading.stems and _is_read(word.begin, reading):
                found.add((placed[word.begin][0], placed[word.end - 1][1]))
    return sorted(found)


def unread(explanation: Explanation, text: str, analyses: Analyses) -> list[tuple[int, int]]:
    """Return the characters of the pieces that a network of the explanation did not read."""
    found = set()
    for reading in _readings(explanation):
        for at, (begin, end, _) in enumerate(_placed(text, reading.field, analyses)):
            if not _is_read(at, reading):
                found.add((begin, end))
    return sorted(found)


def _readings(explanation: Explanation) -> list[ReadSpans]:
    """Return what each network read; a chunk's own reading is a part of that."""
    found = []
    for node in nodes(explanation):
        above = node.above.reading
        if node.own.reading is not None and (above is None or node.above is node.own):
            found.append(node.own.reading)
    return found


def _is_read(piece: int, reading: ReadSpans) -> bool:
    return any(begin <= piece < end for begin, end in reading.spans)


def _placed(text: str, field: str, analyses: Analyses) -> list[tuple[int, int, str]]:
    known = field if field in FIELDS else "wordpieces"
    return list(analyses(field).placed(text, known))


def _places(
    text: str, field: str, reading: ReadSpans | None, analyses: Analyses
) -> dict[str, list[tuple[int, int]]]:
    """Return where a text's tokens stand, by spelling; only those read, where that is known."""
    found = defaultdict(list)
    for at, (begin, end, spelling) in enumerate(_placed(text, field, analyses)):
        if reading is None or _is_read(at, reading):
            found[spelling].append((begin, end))
    return found
