"""Where in a text its score comes from: an explanation's amounts, laid on the characters."""

from collections import defaultdict
from typing import NamedTuple

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.text.analysis import Analysis


class Span(NamedTuple):
    """Characters of a text, from `begin` to before `end`, and what they add to the score."""

    begin: int
    end: int
    value: float


def spans(explanation: Explanation, text: str, analysis: Analysis) -> list[Span]:
    """Return the characters that an explanation's tokens stand at, in the order of the text.

    A token that occurs several times has its amount shared equally by its places: a ranker counts
    its occurrences and does not tell them apart. Places of different fields may overlap, a word
    piece with its word; the values of all spans add up to the part of the score that has a source.
    """
    amounts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    waiting = [explanation]
    while waiting:
        each = waiting.pop()
        if each.source is not None:
            field, spelling = each.source
            amounts[field][spelling] += each.value
        waiting.extend(each.parts)
    values: dict[tuple[int, int], float] = defaultdict(float)
    for field, by_token in amounts.items():
        places = analysis.places(text, field)
        for spelling, amount in by_token.items():
            found = places.get(spelling, ())
            for place in found:
                values[place] += amount / len(found)
    return [Span(begin, end, value) for (begin, end), value in sorted(values.items())]
