"""Why a document got its score: a tree of amounts in which the parts add up to the whole."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

OWN_PIECES = "rankers/"  # before a ranker's name: the word pieces of its own tokenizer, as a field


@dataclass(frozen=True, slots=True)
class ReadSpans:
    """What a network read of a document, for what is shown of its text.

    Attributes:
        field: that the pieces are of, as in `Explanation.source`.
        spans: of the document's pieces, first and one after the last, one a chunk that was read.
        stems: of the words that were marked as exact matches; none where nothing is marked.
    """

    field: str
    spans: tuple[tuple[int, int], ...]
    stems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """An amount and what it is made of: the values of `parts`, where there are any, sum to `value`.

    Attributes:
        label: what contributes: a ranker, a query token, a document token.
        value: how much, in the unit of the score.
        parts: what the amount is made of, largest first.
        source: the document's token that the amount comes from, as (field, spelling), where there
            is one. A field is lemmas, words, wordpieces, or rankers/NAME: the word pieces of that
            ranker's own tokenizer.
        asked: the query's token that the amount is for, likewise.
        reading: what was read of the document to get the amount, where that is not all of it.
        at: where it stands, for a network that tells one occurrence of a token from another: pieces
            of the document, numbered as in `reading`, and their amounts, which sum to `value`.
    """

    label: str
    value: float
    parts: tuple["Explanation", ...] = ()
    source: tuple[str, str] | None = None
    asked: tuple[str, str] | None = None
    reading: ReadSpans | None = None
    at: tuple[tuple[int, float], ...] = ()

    @classmethod
    def total(cls, label: str, parts: Iterable["Explanation"]) -> "Explanation":
        """Return the sum of some parts.

        >>> Explanation.total("sum", [Explanation("a", 1.0), Explanation("b", 2.0)]).value
        3.0
        """
        ordered = tuple(sorted(parts, key=lambda part: -abs(part.value)))
        return cls(label, float(sum(part.value for part in ordered)), ordered)

    def scaled(self, factor: float, label: str) -> "Explanation":
        """Return this explanation with every amount multiplied, under another label."""
        parts = tuple(part.scaled(factor, part.label) for part in self.parts)
        at = tuple((piece, value * factor) for piece, value in self.at)
        return replace(self, label=label, value=self.value * factor, parts=parts, at=at)

    def to_json(self) -> dict[str, Any]:
        """Return plain dictionaries and lists."""
        return {
            "label": self.label,
            "value": self.value,
            "parts": [part.to_json() for part in self.parts],
        }

    def __str__(self) -> str:
        """Draw the tree, an amount a line."""
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        lines = [f"{self.value:9.4f}  {indent}{self.label}"]
        for part in self.parts:
            lines += part._lines(indent + "  ")
        return lines
