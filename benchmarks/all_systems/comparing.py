"""What was measured, and how systems differ: marks, intervals, and the project's goals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID, System
from benchmarks.all_systems.studies import HARD, QA_MIX, Reads
from benchmarks.harness.intervals import ratio
from ranklet.corpus.evaluation.significance import holm, interval, paired_t_test
from ranklet.corpus.evaluation.systems import MEASURES, SIGNIFICANT

RANKED_BY = MEASURES[0]
STRICT = SIGNIFICANT[0][0]
LEAST = {Reads.NOTHING: (HARD, 1.25), Reads.QUERY: (QA_MIX, 1.10), Reads.PAIRS: (QA_MIX, 1.20)}
MARKS = {BASE: ("†", "‡"), HYBRID: ("*", "**")}  # p < .05, p < .01


# By measure, of each query; NaN for queries that a system has not read.
Values = Mapping[str, NDArray[np.float64]]


class Studied(NamedTuple):
    """What was measured on a collection.

    Attributes:
        passages: how many.
        queries: reported; systems whose networks read pairs may have some of them only.
        held_out: queries that pipelines were chosen on.
        systems: in the order of the table.
        values: by name of the system.
    """

    passages: int
    queries: int
    held_out: int
    systems: list[System]
    values: Mapping[str, Values]


class Cost(NamedTuple):
    """What a system costs.

    Attributes:
        p50: ms of `rank`, median over queries.
        p99: the same of 99 %.
        mb: of the bundle's files that it needs, 10⁶ bytes.
        memory: peak resident memory of a process with one answer, 10⁶ bytes, mapped files included.
        start: ms from the start of a process to its first answer.
        minutes: of training.
    """

    p50: float
    p99: float
    mb: float
    memory: float
    start: float
    minutes: float


def marks(found: Studied, measure: str) -> dict[str, str]:
    """Return the marks of each system.

    All are compared with BM25, and the chosen pipelines with the untrained hybrid, too. Each is a
    family of its own, with Holm's correction.
    """
    signs = dict.fromkeys(found.values, "")
    for base, p_values in ((base, p_holm(found, measure, base)) for base in MARKS):
        for name, (gain, p) in p_values.items():
            weak, strong = MARKS[base]
            sign = strong if p < STRICT else weak if p < SIGNIFICANT[1][0] else ""
            signs[name] += ("−" if gain < 0 else "") + sign if sign else ""
    return signs


def p_holm(found: Studied, measure: str, base: str) -> dict[str, tuple[float, float]]:
    """Return by system its difference to a base and the corrected p-value of the t-test."""
    if base not in found.values or found.queries < 2:
        return {}
    chosen = {each.name for each in found.systems if each.chosen}
    others = [name for name in found.values if name != base and (base == BASE or name in chosen)]
    pairs = [pair_scores(found, name, base, measure) for name in others]
    corrected = holm([paired_t_test(*each) for each in pairs])
    gains = [float((first - second).mean()) for first, second in pairs]
    return dict(zip(others, zip(gains, corrected, strict=True), strict=True))


def pair_scores(
    found: Studied, first: str, second: str, measure: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of two systems on the queries that both have."""
    one, other = (found.values[name][measure] for name in (first, second))
    both = ~(np.isnan(one) | np.isnan(other))
    return one[both], other[both]


def common(found: Studied) -> NDArray[np.bool_]:
    """Return which queries all systems have, (queries,) bool."""
    values = np.array([each[RANKED_BY] for each in found.values.values()])
    return np.asarray(~np.isnan(values).any(axis=0))


def goals(found: Mapping[str, Studied]) -> list[str]:
    """Return a line for each goal of the project, met or missed.

    A factor is met if the estimate reaches it; its interval says how sure that is.
    """
    lines = []
    for reads, (study, least) in LEAST.items():
        if study in found and BEST[reads] in found[study].values:
            values = pair_scores(found[study], BEST[reads], BASE, RANKED_BY)
            reached = ratio(*values)
            lines.append(
                f"- Goal: {BEST[reads]}, {study}, {RANKED_BY} ≥ {least:.2f} × BM25's, "
                f"{len(values[0])} queries: "
                f"**{reached.value:.3f} ×** ({reached.low:.3f} to {reached.high:.3f}), "
                f"{verdict(reached.value >= least)}."
            )
    lines.append(_above(found, Reads.NOTHING, BASE))
    lines.append(_above(found, Reads.QUERY, HYBRID))
    return [line for line in lines if line]


def _above(found: Mapping[str, Studied], reads: Reads, base: str) -> str:
    """Return whether a pipeline is above another system everywhere, p < .01."""
    parts, met = [], True
    for study, each in found.items():
        tested = p_holm(each, RANKED_BY, base).get(BEST[reads])
        if tested is None:
            continue
        gain = interval(*pair_scores(each, BEST[reads], base, RANKED_BY))
        met &= tested[0] > 0 and tested[1] < STRICT
        parts.append(f"{study} {gain}, p = {tested[1]:.2g}")
    if not parts:
        return ""
    where = " on all collections" if len(parts) > 1 else ""
    return (
        f"- Goal: {BEST[reads]} above {base}{where}, p < .01: {verdict(met)} ({'; '.join(parts)})."
    )


def verdict(met: bool) -> str:
    """Return how a goal ended."""
    return "met" if met else "**missed**"
