"""The rule that turns what was measured of a paper's relation into a verdict.

A cell is one measurement of a relation: a difference of two systems on a collection, or a number.

- *met*: the difference has the claimed sign and p < .05; for "equal" its interval of 95 % lies
  within ± the margin; a number lies within the paper's bounds.
- *missed*: the difference has the other sign and p < .05; for "equal" it differs from 0 by p < .05
  and its interval does not lie within the margin; a number lies outside the bounds.
- *level*: neither.
- *undecided*: the cell decides nothing. Its system is not the paper's or is gone, the networks rank
  below BM25, or they rank below the encoder that their training began with.

A relation is universal: one missed cell makes it missed, and it is met if all cells that decide are
met. It is level if some are and some are not, and undecided if no cell decides.
"""

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple

from ranklet.corpus.evaluation.significance import holm, t_probability, t_quantile

MET, LEVEL, MISSED, UNDECIDED = VERDICTS = ("met", "level", "missed", "undecided")
SURE, MARGIN = 0.05, 0.01  # p, and the margin of "equal"; stated before anything was measured


class Claim(NamedTuple):
    """What a paper says.

    Attributes:
        sign: more, less, equal, or number.
        margin: of "equal".
        low: the least number that agrees with the paper; likewise `high`.
    """

    sign: str
    margin: float = MARGIN
    low: float = -inf
    high: float = inf


class Cell(NamedTuple):
    """What was measured.

    Attributes:
        value: a difference, or a number.
        error: the standard error of the difference, of queries and seeds.
        freedom: degrees of freedom of the error.
        p: what a study has corrected itself; None is computed.
        nothing: why the cell decides nothing; empty if it does.
    """

    value: float
    error: float = 0.0
    freedom: int = 1
    p: float | None = None
    nothing: str = ""

    @property
    def half(self) -> float:
        """Half of the width of the 95 % interval."""
        return t_quantile(SURE, self.freedom) * self.error


def join_errors(of_queries: float, queries: int, noise: float, freedom: int, seeds: int) -> Cell:
    """Return a cell of no value whose error has the parts of queries and of seeds.

    The degrees of freedom are Satterthwaite's, of a sum of two variances.

    Args:
        of_queries: standard error over queries.
        queries: how many there are.
        noise: standard deviation between seeds.
        freedom: of the noise.
        seeds: trainings; 0 where nothing was trained.
    """
    first = of_queries**2
    second = noise**2 / seeds if seeds else 0.0
    parts = first**2 / max(1, queries - 1) + second**2 / max(1, freedom)
    free = (first + second) ** 2 / parts if parts else queries - 1
    return Cell(0.0, sqrt(first + second), max(1, int(free)))


def correct(cells: Sequence[Cell]) -> list[float]:
    """Return a p-value for each cell of a paper, Holm's correction over those that are tested.

    A p-value that a study has corrected stays as it is; what decides nothing is not tested.
    """
    tested = [not cell.nothing and cell.p is None and cell.error > 0 for cell in cells]
    raw = [
        t_probability(c.value / c.error, c.freedom) for c, t in zip(cells, tested, strict=True) if t
    ]
    corrected = iter(holm(raw))
    return [
        next(corrected) if test else (1.0 if cell.p is None else cell.p)
        for cell, test in zip(cells, tested, strict=True)
    ]


def judge_cell(claim: Claim, cell: Cell, p: float) -> str:
    """Return the verdict of one measurement, with its corrected p-value."""
    if cell.nothing:
        return UNDECIDED
    if claim.sign == "number":
        return MET if claim.low <= cell.value <= claim.high else MISSED
    if claim.sign == "equal":
        if cell.p is None and abs(cell.value) + cell.half <= claim.margin:
            return MET
        return MISSED if p < SURE else LEVEL
    if p >= SURE:
        return LEVEL
    return MET if (cell.value > 0) == (claim.sign == "more") else MISSED


def judge(outcomes: Sequence[str]) -> str:
    """Return the verdict of a relation from those of its cells.

    >>> judge(["met", "undecided"]), judge(["met", "level"]), judge(["met", "missed"]), judge([])
    ('met', 'level', 'missed', 'undecided')
    """
    deciding = [each for each in outcomes if each != UNDECIDED]
    if not deciding:
        return UNDECIDED
    if MISSED in deciding:
        return MISSED
    return MET if set(deciding) == {MET} else LEVEL
