"""Map an explanation's amounts to the characters of the text that they come from."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from ranklet.runtime.errors import TooManySpansError
from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.text.analysis import FIELDS, Analysis

Analyses = Callable[[str], Analysis]  # returns the analysis of a field of `Explanation.source`


class Span(NamedTuple):
    """The characters of a text from `begin` to before `end`, and what they add to the score."""

    begin: int
    end: int
    value: float

    def shifted(self, by: int) -> "Span":
        """Return this span moved forward by a number of characters."""
        return Span(self.begin + by, self.end + by, self.value)


class Node(NamedTuple):
    """A branch of an explanation and its place in the tree.

    Attributes:
        branch: the branch.
        parent: the branch that it is a part of; the root is its own parent.
        query_token: the number of the query token that it is for, or None. Query tokens are
            numbered from 0 in the order in which the tree names them.
        read: the part of the document that was read.
    """

    branch: Explanation
    parent: Explanation
    query_token: int | None
    read: ReadSpans | None


def nodes(explanation: Explanation) -> Iterator[Node]:
    """Yield every branch of an explanation, each before its parts.

    The reasons of a rank follow its parts as a branch of their own, in the unit of the rank's
    amount (see `in_unit_of_rank`).
    """
    count = 0
    waiting = [Node(explanation, explanation, None, None)]
    while waiting:
        branch, parent, query_token, read = waiting.pop()
        if branch.query_token is not None:
            query_token, count = count, count + 1
        read = branch.read or read
        yield Node(branch, parent, query_token, read)
        below = [*branch.parts, *in_unit_of_rank(branch)]
        waiting.extend(Node(part, branch, query_token, read) for part in reversed(below))


def in_unit_of_rank(branch: Explanation) -> list[Explanation]:
    """Scale the explanation behind a rank so that its parts add up to what the rank adds.

    A rank's amount is not proportional to the score behind it. So the reasons are multiplied by
    amount of the rank / Σ |amounts that have a place in the text|. Then all marks of a ranker
    weigh as much as its rank adds. If no amount has a place, the sum is over all amounts without
    parts.
    """
    reasons = branch.reasons
    if reasons is None:
        return []
    total = _placed_amount(reasons) or _amount_of_leaves(reasons)
    return [reasons.scaled(branch.value / total if total else 0.0, branch.label)]


def _placed_amount(branch: Explanation) -> float:
    """Return Σ |amounts that have a place in the text|, in the unit of the branch."""
    total = sum(_placed_amount(part) for part in branch.parts)
    if branch.reasons is not None and _placed_amount(branch.reasons):
        total += abs(branch.value)
    if branch.pieces:
        return total + sum(abs(amount) for _, amount in branch.pieces)
    return total + abs(branch.value) if branch.source is not None else total


def _amount_of_leaves(branch: Explanation) -> float:
    if not branch.parts:
        return abs(branch.value)
    return sum(_amount_of_leaves(part) for part in branch.parts)


def spans_by_query_token(
    explanation: Explanation, text: str, analyses: Analyses, most: int | None = None
) -> list[tuple[Span, int | None]]:
    """Return what the characters of a text add to the score for each query token.

    A network that distinguishes the occurrences of a token explains their amounts itself. Other
    rankers only count the occurrences, so their amount is shared equally by the places of the token
    that were read.

    Returns:
        Spans in text order, each with the number of its query token as in `Node`.

    Raises:
        TooManySpansError: the tokens of rankers that count stand at more than `most` places.
    """
    amounts: dict[tuple[str, ReadSpans | None], dict[tuple[str, int | None], float]] = defaultdict(
        lambda: defaultdict(float)
    )
    values: dict[tuple[int, int, int | None], float] = defaultdict(float)
    for node in nodes(explanation):
        if node.branch.pieces and node.read is not None:
            placed = list(_placed(text, node.read.field, analyses))
            for begin, end, amount in _joined(node.branch.pieces, placed):
                values[begin, end, node.query_token] += amount
        elif node.branch.source is not None:
            field, spelling = node.branch.source
            amounts[field, node.read][spelling, node.query_token] += node.branch.value
    for (field, read), by_token in amounts.items():
        wanted = {spelling for spelling, _ in by_token}
        places = _places(text, field, read, analyses, wanted, most)
        for (spelling, query_token), amount in by_token.items():
            occurrences = places.get(spelling, ())
            for begin, end in occurrences:
                values[begin, end, query_token] += amount / len(occurrences)
    ordered = sorted(values.items(), key=lambda item: item[0][:2])
    return [(Span(begin, end, value), token) for (begin, end, token), value in ordered]


def _joined(
    pieces: Sequence[tuple[int, float]], placed: Sequence[tuple[int, int, str]]
) -> list[Span]:
    """Return spans of pieces; neighbours with the same amount, as in a word, become one span."""
    joined: list[Span] = []
    before = None  # the amount of the last piece
    for piece, amount in pieces:
        if piece >= len(placed):  # the text may differ from the one that was explained
            continue
        begin, end, _ = placed[piece]
        if joined and joined[-1].end == begin and amount == before:
            joined[-1] = Span(joined[-1].begin, end, joined[-1].value + amount)
        else:
            joined.append(Span(begin, end, amount))
        before = amount
    return joined


def spans(
    explanation: Explanation, text: str, analyses: Analyses, most: int | None = None
) -> list[Span]:
    """Return the characters of an explanation's document tokens, in text order.

    Spans of different fields may overlap, for example a word piece and its word. The values of all
    spans add up to the part of the score that has a source. See `spans_by_query_token` for how the
    amount of a token is shared by its occurrences.
    """
    values: dict[tuple[int, int], float] = defaultdict(float)
    for (begin, end, value), _ in spans_by_query_token(explanation, text, analyses, most):
        values[begin, end] += value
    return [Span(begin, end, value) for (begin, end), value in values.items()]


def marked(explanation: Explanation, text: str, analyses: Analyses) -> list[tuple[int, int]]:
    """Return the characters of the words that were marked as exact matches for a network."""
    places = set()
    for read in _read_spans(explanation):
        if not read.stems:
            continue
        placed = list(_placed(text, read.field, analyses))
        analysis = analyses(read.field)
        pieces = analysis.tokens(text, "wordpieces").tolist()
        for word in analysis.lexicon.words(pieces):
            if word.stem in read.stems and _is_read(word.begin, read):
                places.add((placed[word.begin][0], placed[word.end - 1][1]))
    return sorted(places)


def unread(explanation: Explanation, text: str, analyses: Analyses) -> list[tuple[int, int]]:
    """Return the characters of the pieces that a network of the explanation did not read."""
    places = set()
    for read in _read_spans(explanation):
        for piece, (begin, end, _) in enumerate(_placed(text, read.field, analyses)):
            if not _is_read(piece, read):
                places.add((begin, end))
    return sorted(places)


def _read_spans(explanation: Explanation) -> list[ReadSpans]:
    """Return what each network read, without the parts of it that single chunks read."""
    network_reads = []
    for node in nodes(explanation):
        of_parent = node.parent.read
        if node.branch.read is not None and (of_parent is None or node.parent is node.branch):
            network_reads.append(node.branch.read)
    return network_reads


def _is_read(piece: int, read: ReadSpans) -> bool:
    return any(begin <= piece < end for begin, end in read.spans)


def _placed(text: str, field: str, analyses: Analyses) -> Iterator[tuple[int, int, str]]:
    known = field if field in FIELDS else "wordpieces"
    return analyses(field).placed(text, known)


def _places(
    text: str,
    field: str,
    read: ReadSpans | None,
    analyses: Analyses,
    wanted: Set[str],
    most: int | None,
) -> dict[str, list[tuple[int, int]]]:
    """Return the places of a text's tokens by spelling, only of wanted ones that were read."""
    places = defaultdict(list)
    count = 0
    for piece, (begin, end, spelling) in enumerate(_placed(text, field, analyses)):
        if spelling in wanted and (read is None or _is_read(piece, read)):
            places[spelling].append((begin, end))
            count += 1
            if most is not None and count > most:
                raise TooManySpansError(f"the text has more than {most:,} places to highlight")
    return places
