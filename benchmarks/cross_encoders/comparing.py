"""Measure systems alone and fused with BM25, test them, and show them with intervals."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.cross_encoders.candidates import Lists
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.judging import judged_lists, values_of
from benchmarks.harness.query_scaling import of_unit_variance
from benchmarks.harness.report import table
from ranklet.training.evaluation.measures import parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.tuning.cross_validation import interpolate

MEASURES = ("MRR@10", "nDCG@10")
RANKED_BY = MEASURES[0]
FOLDS = 5
DAGGERS, STARS, CIRCLES = ("†", "‡"), ("*", "**"), ("°", "°°")  # p < .05, p < .01
SIGNS = (
    "† p < .05, ‡ p < .01 against BM25; * p < .05, ** p < .01 against the row that the intervals "
    "name; ° p < .05, °° p < .01 with BM25 against alone; − says that it is below (two-sided "
    "paired t-tests, Holm's correction in each family and for each measure). Intervals are the "
    "t-test's, without a correction."
)

Values = Mapping[str, NDArray[np.float64]]  # by measure, of each query


class Row(NamedTuple):
    """A system on a collection.

    Attributes:
        label: its name.
        alone: what it reaches as a reranker, mean over seeds.
        seeds: what each seed reaches alone; empty for a baseline.
        base: what the row that it is compared with reaches, on the same seeds; None for nothing.
        fused: what it reaches with BM25; None for a baseline.
        alphas: BM25's shares in the fusion, of all folds and seeds.
        notes: further columns.
    """

    label: str
    alone: Values
    seeds: tuple[Values, ...] = ()
    base: Values | None = None
    fused: Values | None = None
    alphas: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def alone(lists: Lists, scores: Sequence[NDArray[np.float32]]) -> Values:
    """Return each measure's value of each query by the order of some scores."""
    return values_of(lists.queries, lists.ids, scores, MEASURES)


def with_bm25(
    lists: Lists, scores: Sequence[NDArray[np.float32]]
) -> tuple[Values, tuple[float, ...]]:
    """Return the values of α · BM25 + (1 − α) · a system's scores, and the α of each fold.

    Both are scaled as a linear fusion with the scaling `variance` does when it serves. α is the
    best of the other folds (Boualili, eq. 7.4), so no query has chosen its own.
    """
    pairs = zip(lists.scores, scores, strict=True)
    features = [of_unit_variance(np.stack(both, 1)) for both in pairs]
    judged = judged_lists(lists.queries, lists.ids, features)
    fit = interpolate(judged, RANKED_BY, folds=FOLDS)
    fold = np.random.default_rng(0).permutation(len(lists.queries)) % FOLDS  # as `interpolate`
    values = {}
    for measure in MEASURES:
        by_fold = [
            per_query(judged, judged.scores(np.array([alpha, 1 - alpha])), parse_measure(measure))
            for alpha in fit.alphas
        ]
        values[measure] = np.stack(by_fold)[fold, np.arange(len(fold))]
    return values, fit.alphas


def mean_of(several: Sequence[Values]) -> Values:
    """Return the mean over seeds of the value of each query."""
    return {measure: np.mean([each[measure] for each in several], axis=0) for measure in MEASURES}


def marks(
    values: Mapping[str, NDArray[np.float64]],
    bases: Mapping[str, NDArray[np.float64]],
    signs: tuple[str, str],
) -> dict[str, str]:
    """Return a mark for each difference to a base that is significant; − says that it is below.

    Two-sided paired t-tests with Holm's correction over all of them.

    >>> rows = {"a": np.array([1.0, 0.9, 1.0, 0.8]), "b": np.array([0.2, 0.1, 0.0, 0.1])}
    >>> marks(rows, {"a": rows["b"], "b": rows["a"]}, DAGGERS)
    {'a': '‡', 'b': '−‡'}

    Args:
        values: of the rows, (queries,) each.
        bases: what a row is compared with; a row without one is not compared.
        signs: of p < .05 and of p < .01.
    """
    if not bases or len(next(iter(bases.values()))) < 2:
        return {}
    both = {("row", name): values[name] for name in bases}
    both |= {("base", name): base for name, base in bases.items()}
    named = {" ".join(key): each for key, each in both.items()}
    found = {}
    for name, each in zip(
        bases,
        compare(named, pairs=[(f"row {name}", f"base {name}") for name in bases]),
        strict=True,
    ):
        sign = signs[1] if each.p_holm < 0.01 else signs[0] if each.p_holm < 0.05 else ""
        found[name] = f"{'−' if each.difference < 0 and sign else ''}{sign}"
    return found


def shown_rows(
    rows: Sequence[Row], against: str, *, notes: Sequence[str] = (), fused: bool = True
) -> str:
    """Return the table of a collection, whose first row is BM25.

    Args:
        rows: the systems.
        against: what the base of the rows is called.
        notes: names of the columns of `Row.notes`.
        fused: whether there are columns of the fusion with BM25.
    """
    bm25 = rows[0].alone
    lexical = {row.label: bm25 for row in rows[1:]}
    lines = [[row.label, *(row.notes or [""] * len(notes))] for row in rows]
    head = ["system", *notes]
    for measure in MEASURES:
        values = {row.label: row.alone[measure] for row in rows}
        daggers = marks(values, _of(lexical, measure), DAGGERS)
        stars = marks(values, _of(_bases(rows), measure), STARS)
        for line, row in zip(lines, rows, strict=True):
            sign = daggers.get(row.label, "") + stars.get(row.label, "")
            line.append(f"{values[row.label].mean():.4f}{sign}")
        head.append(measure)
    head += ["seeds", f"{RANKED_BY} − {against} (95 %)"]
    for line, row in zip(lines, rows, strict=True):
        each = [float(values[RANKED_BY].mean()) for values in row.seeds]
        line.append(f"{min(each):.3f} to {max(each):.3f}" if len(each) > 1 else "")
        line.append(_interval(row.alone, row.base))
    if fused:
        head += _add_fused(lines, rows, lexical)
    return table(head, lines)


def _add_fused(
    lines: list[list[str]], rows: Sequence[Row], lexical: Mapping[str, Values]
) -> list[str]:
    """Add the columns of the fusion with BM25 to lines, and return their names."""
    own = {row.label: row.fused for row in rows if row.fused is not None}
    before = {row.label: row.alone for row in rows if row.fused is not None}
    bm25 = {label: lexical[label] for label in own}
    for measure in MEASURES:
        values = _of(own, measure)
        daggers = marks(values, _of(bm25, measure), DAGGERS)
        circles = marks(values, _of(before, measure), CIRCLES)
        for line, row in zip(lines, rows, strict=True):
            sign = daggers.get(row.label, "") + circles.get(row.label, "")
            line.append(f"{values[row.label].mean():.4f}{sign}" if row.label in own else "")
    for line, row in zip(lines, rows, strict=True):
        line.append("" if row.fused is None else _interval(row.fused, row.alone))
        line.append(f"{min(row.alphas):g} to {max(row.alphas):g}" if row.alphas else "")
    gain = f"{RANKED_BY} with BM25 − alone (95 %)"
    return [*(f"{measure} with BM25" for measure in MEASURES), gain, "α"]


def _bases(rows: Sequence[Row]) -> dict[str, Values]:
    return {row.label: row.base for row in rows if row.base is not None}


def _of(several: Mapping[str, Values], measure: str) -> dict[str, NDArray[np.float64]]:
    return {label: each[measure] for label, each in several.items()}


def _interval(values: Values, base: Values | None) -> str:
    if base is None:
        return ""
    return shown(difference(values[RANKED_BY], base[RANKED_BY]))
