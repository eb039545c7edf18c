"""Map an explanation's amounts to the characters of the text that they come from."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.ground.errors import TooManySpansError
from ranklet.runtime.text.analysis import Analysis
from ranklet.runtime.text.names import FIELDS

Analyses = Callable[[str], Analysis]  # returns the analysis of a field of `Explanation.source`


class Span(NamedTuple):
    """The characters of a text from `begin` to before `end`, and what they add to the score."""

    begin: int
    end: int
    value: float

    def shifted(self, by: int) -> "Span":
        """Return this span moved forward by a number of characters."""
        return Span(self.begin + by, self.end + by, self.value)


def nodes(explanation: Explanation) -> Iterator[tuple[Explanation, ReadSpans | None]]:
    """Yield every branch with the part of the document that was read, each before its parts.

    The reasons of a rank follow its parts as a branch of their own, in the unit of the rank's
    amount (see `scale_to_rank`).
    """
    waiting: list[tuple[Explanation, ReadSpans | None]] = [(explanation, None)]
    while waiting:
        branch, read = waiting.pop()
        read = branch.read or read
        yield branch, read
        below = [*branch.parts, *scale_to_rank(branch)]
        waiting.extend((part, read) for part in reversed(below))


def scale_to_rank(branch: Explanation) -> list[Explanation]:
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


def spans(
    explanation: Explanation, text: str, analyses: Analyses, most: int | None = None
) -> list[Span]:
    """Return the characters of an explanation's document tokens, in text order.

    A network that distinguishes the occurrences of a token explains their amounts itself. Other
    rankers only count the occurrences, so their amount is shared equally by the places of the token
    that were read. Spans of different fields may overlap, for example a word piece and its word.
    The values of all spans add up to the part of the score that has a source.

    Raises:
        TooManySpansError: the tokens of rankers that count stand at more than `most` places.
    """
    amounts: dict[tuple[str, ReadSpans | None], dict[str, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    values: dict[tuple[int, int], float] = defaultdict(float)
    for branch, read in nodes(explanation):
        if branch.pieces and read is not None:
            placed = list(_find_tokens(text, read.field, analyses))
            for begin, end, amount in _join_neighbours(branch.pieces, placed):
                values[begin, end] += amount
        elif branch.source is not None:
            field, spelling = branch.source
            amounts[field, read][spelling] += branch.value
    for (field, read), by_spelling in amounts.items():
        places = _places(text, field, read, analyses, by_spelling.keys(), most)
        for spelling, occurrences in places.items():
            for begin, end in occurrences:
                values[begin, end] += by_spelling[spelling] / len(occurrences)
    return [Span(begin, end, value) for (begin, end), value in sorted(values.items())]


def _join_neighbours(
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


def _is_read(piece: int, read: ReadSpans) -> bool:
    return any(begin <= piece < end for begin, end in read.spans)


def _find_tokens(text: str, field: str, analyses: Analyses) -> Iterator[tuple[int, int, str]]:
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
    for piece, (begin, end, spelling) in enumerate(_find_tokens(text, field, analyses)):
        if spelling in wanted and (read is None or _is_read(piece, read)):
            places[spelling].append((begin, end))
            count += 1
            if most is not None and count > most:
                raise TooManySpansError(f"the text has more than {most:,} places to highlight")
    return places
