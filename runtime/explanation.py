"""Why a document got its score: a tree of amounts in which the parts add up to the whole."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """An amount and what it is made of: the values of `parts`, where there are any, sum to `value`.

    Attributes:
        label: what contributes: a ranker, a query token, a document token.
        value: how much, in the unit of the score.
        parts: what the amount is made of, largest first.
        source: the document's token that the amount comes from, as (field, spelling), where there
            is one.
    """

    label: str
    value: float
    parts: tuple["Explanation", ...] = ()
    source: tuple[str, str] | None = None

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
        return Explanation(label, self.value * factor, parts, self.source)

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
