"""Draw an explanation as lines of text: the whole tree, or its strongest rows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ranklet.runtime.console import printable

SMALLEST = 0.00005  # amounts below it are printed as 0.0000, so they share a row
_VALUE = 11  # characters of an amount and the space after it


class Tree(Protocol):
    """What is drawn of an `Explanation`, which imports this module."""

    @property
    def label(self) -> str:
        """What contributes the amount."""
        ...

    @property
    def value(self) -> float:
        """The amount."""
        ...

    @property
    def parts(self) -> "Sequence[Tree]":
        """The amounts that add up to this one."""
        ...

    @property
    def reasons(self) -> "Tree | None":
        """Another amount that explains this one, in a unit of its own."""
        ...


class _Row(NamedTuple):
    """A line.

    Attributes:
        weight: the amount's share of the score, at most as large as the share of the row above that
            it belongs to.
        text: the line.
    """

    weight: float
    text: str


def outline(explanation: Tree, most: int | None = None, hint: str = "") -> str:
    """Return an explanation, one amount per line, parts below their whole.

    Reasons are indented together with their amounts, because they have a unit of their own.

    Args:
        explanation: the tree.
        most: maximum number of rows. The strongest rows are shown, each with the rows that it
            belongs to, and a last row counts the others. None shows all.
        hint: follows that count, to say where all rows are.
    """
    rows = list(_rows(explanation, 1.0, 0, 0))
    if most is None or len(rows) <= most:
        return "\n".join(row.text for row in rows)
    # A row precedes the rows that belong to it and weighs no less, so that none is cut off.
    strongest = sorted(range(len(rows)), key=lambda at: (-rows[at].weight, at))[:most]
    hidden = len(rows) - len(strongest)
    more = f"{'…':>9}  {hidden} more row{'s' if hidden > 1 else ''}{hint}"
    return "\n".join([*(rows[at].text for at in sorted(strongest)), more])


def _rows(
    branch: Tree, weight: float, margin: int, depth: int, heading: str = ""
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
