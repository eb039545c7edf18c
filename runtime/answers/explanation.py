"""Explain a document's score as a tree of amounts in which the parts add up to the whole.

As lines of text it is the whole tree, or its strongest rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ranklet.runtime.answers.console import printable

# The prefix of a field that holds the word pieces of a ranker's own tokenizer: rankers/NAME.
RANKER_FIELD = "rankers/"
SMALLEST = 0.00005  # amounts below it are printed as 0.0000, so they share a row
SHOWN = 40  # rows in a repr
_VALUE = 11  # characters of an amount and the space after it


class ReadSpans(NamedTuple):
    """The parts of a document that a network read, for showing them in its text.

    Attributes:
        field: the field of the pieces, as in `Explanation.source`.
        spans: one span per chunk that was read, the first piece and the piece after the last.
    """

    field: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """An amount and its parts, whose values sum to `value` if there are any.

    Attributes:
        label: what contributes the amount, such as a ranker, a query token or a document token.
        value: the amount, in the unit of the score.
        parts: the amounts that add up to this one, largest first.
        source: the document token that the amount comes from, as (field, spelling). A field is
            lemmas, words, wordpieces, or rankers/NAME for the word pieces of that ranker's own
            tokenizer.
        query_token: the query token that the amount is for, also as (field, spelling).
        read: the part of the document that the network read, if not all of it.
        pieces: the document's pieces, numbered as in `read`, and the amounts that mark them, if the
            network distinguishes the occurrences of a token. They sum to `value`, except for a
            dense encoder, where they are what stands out (`ranklet.runtime.dense.word_amounts`).
        reasons: the explanation of the score that led to a rank, in the ranker's own unit, if the
            amount depends on that rank only. It is not a part of the amount.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("label", "value", "parts")
    PERHAPS: ClassVar[tuple[str, ...]] = ("reasons",)

    label: str
    value: float
    parts: tuple["Explanation", ...] = ()
    source: tuple[str, str] | None = None
    query_token: tuple[str, str] | None = None
    read: ReadSpans | None = None
    pieces: tuple[tuple[int, float], ...] = ()
    reasons: "Explanation | None" = None

    @classmethod
    def total(cls, label: str, parts: Iterable["Explanation"]) -> "Explanation":
        """Return an explanation whose value is the sum of some parts.

        >>> Explanation.total("sum", [Explanation("a", 1.0), Explanation("b", 2.0)]).value
        3.0
        """
        ordered = tuple(sorted(parts, key=lambda part: -abs(part.value)))
        return cls(label, float(sum(part.value for part in ordered)), ordered)

    def scaled(self, factor: float, label: str) -> "Explanation":
        """Return this explanation with every amount multiplied by a factor, and a new label.

        Reasons keep their unit.
        """
        parts = tuple(part.scaled(factor, part.label) for part in self.parts)
        pieces = tuple((piece, value * factor) for piece, value in self.pieces)
        return replace(self, label=label, value=self.value * factor, parts=parts, pieces=pieces)

    def to_dict(self) -> dict[str, Any]:
        """Return labels, values, parts, and reasons if there are any, as plain values."""
        tree = {  # by hand, because an answer has thousands of them
            "label": self.label,
            "value": self.value,
            "parts": [part.to_dict() for part in self.parts],
        }
        return tree if self.reasons is None else {**tree, "reasons": self.reasons.to_dict()}

    def text(self, most: int | None = None, hint: str = "") -> str:
        """Draw the tree, one amount per line, parts below their whole, or only its strongest rows.

        Reasons are indented together with their amounts, because they have a unit of their own.

        Args:
            most: maximum number of rows. The strongest rows are shown, each with the rows that it
                belongs to, and a last row counts the others. None shows all.
            hint: follows that count, to say where all rows are.
        """
        rows = list(_rows(self, 1.0, 0, 0))
        if most is None or len(rows) <= most:
            return "\n".join(row.text for row in rows)
        # A row precedes the rows that belong to it and weighs no less, so that none is cut off.
        strongest = sorted(range(len(rows)), key=lambda at: (-rows[at].weight, at))[:most]
        hidden = len(rows) - len(strongest)
        more = f"{'…':>9}  {hidden} more row{'s' if hidden > 1 else ''}{hint}"
        return "\n".join([*(rows[at].text for at in sorted(strongest)), more])

    def __str__(self) -> str:
        """Draw the whole tree; amounts of 0.0000 share a row."""
        return self.text()

    def __repr__(self) -> str:
        """Draw the strongest rows of the tree."""
        return self.text(SHOWN, " (print it to see all)")

    def _repr_html_(self) -> str:
        from ranklet.runtime.answers.html import (
            element,  # its table of entities is for notebooks only
        )

        return element("pre", repr(self))


def branches(explanation: Explanation) -> Iterator[Explanation]:
    """Yield every amount of an explanation, and of the reasons for ranks in it.

    >>> [each.label for each in branches(Explanation.total("sum", [Explanation("a", 1.0)]))]
    ['sum', 'a']
    """
    waiting = [explanation]
    while waiting:
        branch = waiting.pop()
        yield branch
        waiting += branch.parts
        if branch.reasons is not None:
            waiting.append(branch.reasons)


class _Row(NamedTuple):
    """A line.

    Attributes:
        weight: the amount's share of the score, at most as large as the share of the row above that
            it belongs to.
        text: the line.
    """

    weight: float
    text: str


def _rows(
    branch: Explanation, weight: float, margin: int, depth: int, heading: str = ""
) -> Iterator[_Row]:
    """Yield the row of a branch and the rows below it.

    Args:
        branch: the branch.
        weight: the branch's share of the score.
        margin: characters before the amounts of its unit.
        depth: the branch's depth in the tree of its unit.
        heading: the text of the branch's row, unless it is the amount and the label.
    """
    line = heading or f"{branch.value:9.4f}  {'  ' * depth}{branch.label}"
    yield _Row(weight, " " * margin + printable(line))
    total = sum(abs(part.value) for part in branch.parts)
    small = [part for part in branch.parts if abs(part.value) < SMALLEST]
    for part in branch.parts:
        if abs(part.value) >= SMALLEST:
            yield from _rows(part, weight * abs(part.value) / total, margin, depth + 1)
    if small:
        rest = sum(part.value for part in small)
        count = f"{len(small)} part{'s' if len(small) > 1 else ''} below {SMALLEST:.5f}"
        yield _Row(0.0, f"{' ' * margin}{rest:9.4f}  {'  ' * (depth + 1)}{count}")
    if branch.reasons is not None:
        indent = margin + _VALUE + 2 * (depth + 1)
        yield from _rows(branch.reasons, weight, indent, -1, branch.reasons.label)
