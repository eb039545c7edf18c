"""Explain a document's score as a tree of amounts in which the parts add up to the whole."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ranklet.runtime.outline import outline

# The prefix of a field that holds the word pieces of a ranker's own tokenizer: rankers/NAME.
RANKER_FIELD = "rankers/"


@dataclass(frozen=True, slots=True)
class ReadSpans:
    """The parts of a document that a network read, for showing them in its text.

    Attributes:
        field: the field of the pieces, as in `Explanation.source`.
        spans: one span per chunk that was read, the first piece and the piece after the last.
        stems: the stems of the words that were marked as exact matches.
    """

    field: str
    spans: tuple[tuple[int, int], ...]
    stems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
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

    def to_json(self) -> dict[str, Any]:
        """Return labels, values, parts, and reasons if there are any, as plain values."""
        tree = {
            "label": self.label,
            "value": self.value,
            "parts": [part.to_json() for part in self.parts],
        }
        return tree if self.reasons is None else {**tree, "reasons": self.reasons.to_json()}

    def text(self, most: int | None = None, hint: str = "") -> str:
        """Draw the tree, one amount per line, or only its strongest rows.

        Args:
            most: maximum number of rows, before a last one that counts the others; None for all.
            hint: follows that count, to say where all rows are.
        """
        return outline(self, most, hint)

    def __str__(self) -> str:
        """Draw the whole tree; amounts of 0.0000 share a row."""
        return self.text()


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
