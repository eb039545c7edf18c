"""Explain a document's score as a tree of amounts in which the parts add up to the whole."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

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
        pieces: from networks that distinguish the occurrences of a token, the document's pieces,
            numbered as in `read`, and their amounts, which sum to `value`.
    """

    label: str
    value: float
    parts: tuple["Explanation", ...] = ()
    source: tuple[str, str] | None = None
    query_token: tuple[str, str] | None = None
    read: ReadSpans | None = None
    pieces: tuple[tuple[int, float], ...] = ()

    @classmethod
    def total(cls, label: str, parts: Iterable["Explanation"]) -> "Explanation":
        """Return an explanation whose value is the sum of some parts.

        >>> Explanation.total("sum", [Explanation("a", 1.0), Explanation("b", 2.0)]).value
        3.0
        """
        ordered = tuple(sorted(parts, key=lambda part: -abs(part.value)))
        return cls(label, float(sum(part.value for part in ordered)), ordered)

    def scaled(self, factor: float, label: str) -> "Explanation":
        """Return this explanation with every amount multiplied by a factor, and a new label."""
        parts = tuple(part.scaled(factor, part.label) for part in self.parts)
        pieces = tuple((piece, value * factor) for piece, value in self.pieces)
        return replace(self, label=label, value=self.value * factor, parts=parts, pieces=pieces)

    def to_json(self) -> dict[str, Any]:
        """Return labels, values and parts as plain dictionaries and lists."""
        return {
            "label": self.label,
            "value": self.value,
            "parts": [part.to_json() for part in self.parts],
        }

    def __str__(self) -> str:
        """Draw the tree, one amount per line."""
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        lines = [f"{self.value:9.4f}  {indent}{self.label}"]
        for part in self.parts:
            lines += part._lines(indent + "  ")
        return lines
