"""The section of `paper_trainings`: systems next to others, with the seeds in the error."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.report import table
from benchmarks.papers.plans import RERANKING, Training, Values
from ranklet.corpus.evaluation.measures import parse_measure
from ranklet.corpus.evaluation.significance import holm, t_probability, t_quantile
from ranklet.corpus.evaluation.systems import mark

MARGIN = 0.01  # differences within it are none; stated before anything was measured
Measured = Sequence[tuple[Training, Mapping[str, Any]]]
All = dict[tuple[str, int, str], Values]  # by ranker, seed and collection


class Pair(NamedTuple):
    """A ranker next to another on a collection, by one measure.

    Attributes:
        alike: a key of trainings whose seeds differ alike, which learn and rank the same; two lists
            of one network differ less.
        values: of the ranker and of the other, (2, seeds, queries) float64.
    """

    name: str
    other: str
    collection: str
    measure: str
    alike: tuple[object, ...]
    values: NDArray[np.float64]

    @property
    def key(self) -> tuple[object, ...]:
        """What names the row, in which each collection has a cell."""
        return self.name, self.other, self.measure, self.values.shape[1]

    @property
    def by_seed(self) -> NDArray[np.float64]:
        """The mean difference of each seed, (seeds,)."""
        return np.asarray((self.values[0] - self.values[1]).mean(1))

    @property
    def by_query(self) -> NDArray[np.float64]:
        """The mean difference of each query, (queries,)."""
        return np.asarray((self.values[0] - self.values[1]).mean(0))


def section(found: Measured) -> str:
    """Return what was trained, and how it compares on the queries that both systems ranked."""
    rows: dict[tuple[object, ...], dict[str, str]] = {}
    families = _alike(pairs := _pairs(found))
    for family in families.values():
        noise = seed_noise(family)
        tested = [_cell(pair, *noise) for pair in family]
        corrected = holm([p for _, p in tested])
        for pair, (cell, _), p in zip(family, tested, corrected, strict=True):
            rows.setdefault(pair.key, {})[pair.collection] = cell.format(mark(p).strip())
    head = ["ranker", "learned from", "seeds", "minutes", "steps", "planned"]
    queries: dict[str, list[str]] = {}
    for pair in pairs:
        queries.setdefault(pair.collection, []).append(f"{pair.values.shape[2]:,}")
    tests = ["ranker", "next to", "measure", "seeds",
             *(f"{name}, {_range(each)}" for name, each in queries.items())]  # fmt: skip
    keys = dict.fromkeys(pair.key for pair in pairs)
    return f"""
{table(head, _trained(found))}

*Queries* are those that both systems ranked. A difference is the mean over queries and seeds. Its \
standard error has the queries' part, and the seeds', by the standard deviation of all trainings \
that learn and rank the same (two lists of one network apart). Two-sided tests, Holm's correction \
over these by one measure; intervals of 95 %. Columns name a collection and its queries; a cell \
has the ranker's value and the difference with its interval. † p < .05, ‡ p < .01; "=" says that \
the interval is within ± {MARGIN:g}.

{table(tests, [[*key, *(rows[key].get(name, "") for name in queries)] for key in keys])}
"""


def seed_noise(pairs: Sequence[Pair]) -> tuple[float, int]:
    """Return the standard deviation of a difference between seeds, and its degrees of freedom."""
    several = [pair.by_seed for pair in pairs if len(pair.by_seed) > 1]
    freedom = sum(len(each) - 1 for each in several)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in several)
    return float(np.sqrt(squares / freedom)) if freedom else 0.0, freedom


def _alike(pairs: Sequence[Pair]) -> dict[tuple[object, ...], list[Pair]]:
    found: dict[tuple[object, ...], list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.alike, []).append(pair)
    return found


def _cell(pair: Pair, noise: float, freedom: int) -> tuple[str, float]:
    """Return a cell with braces for its mark, and the p-value before its correction."""
    seeds, queries = pair.values.shape[1:]
    mean = float(pair.by_seed.mean())
    of_queries = float(pair.by_query.var(ddof=1)) / queries
    error = float(np.sqrt(of_queries + noise**2 / seeds))
    # Satterthwaite's degrees of freedom of a sum of two variances.
    parts = of_queries**2 / (queries - 1) + (noise**2 / seeds) ** 2 / max(1, freedom)
    free = max(1, int(error**4 / parts)) if parts else queries - 1
    margin = t_quantile(0.05, free) * error
    equal = " =" if abs(mean) + margin <= MARGIN else ""
    cell = f"{pair.values[0].mean():.4f}, {mean:+.3f}{{}} ± {margin:.3f}{equal}"
    return cell, t_probability(mean / error, free) if error else 1.0


def _pairs(found: Measured) -> list[Pair]:
    """Return all planned comparisons; a reranker changes no recall, so such pairs are left out."""
    values: All = {
        (plan.name, plan.seed, name): of_systems
        for plan, each in found
        for name, of_systems in each["values"].items()
    }
    plans = {plan.name: plan for plan, _ in found}
    measures = {m for of in values.values() for by in of.values() for m in by}
    pairs = [
        _pair(values, plan, other, name, measure)
        for plan in plans.values()
        for name in plan.ranks
        for other in plan.against
        for measure in sorted(measures, key=lambda name: str(parse_measure(name)))
    ]
    return [pair for pair in pairs if pair and (pair.values[0] != pair.values[1]).any()]


def _pair(values: All, plan: Training, other: str, collection: str, measure: str) -> Pair | None:
    both = []
    for (trained, seed, where), own in values.items():
        if (trained, where) == (plan.name, collection):
            theirs = own.get(other) or values.get((other, seed, where), {"": {}})[""]
            both.append((own[""].get(measure, {}), theirs.get(measure, {})))
    both = [pair for pair in both if all(pair)]
    if not both:
        return None
    queries = [name for name in both[0][0] if all(name in of for pair in both for of in pair)]
    if len(queries) < 2:
        return None
    numbers = [[[of[name] for name in queries] for of in pair] for pair in both]
    alike = plan.kind, plan.learns, plan.ranks, measure, other == RERANKING
    return Pair(plan.name, other, collection, measure, alike, np.array(numbers).swapaxes(0, 1))


def _trained(found: Measured) -> list[list[object]]:
    rows: dict[str, list[tuple[Training, Mapping[str, Any]]]] = {}
    for plan, each in found:
        rows.setdefault(plan.name, []).append((plan, each))
    return [
        [name, own[0][0].learns, len(own), _range(f"{each['minutes']:.1f}" for _, each in own),
         _range(f"{each['steps']:,}" for _, each in own), f"{own[0][0].steps:,}"]
        for name, own in rows.items()
    ]  # fmt: skip


def _range(texts: Any) -> str:
    """Return the first and the last of some numbers, or one that is the same.

    >>> _range(["1.0", "2.0", "1.0"]), _range(["3", "3"])
    ('1.0 to 2.0', '3')
    """
    ordered = sorted(set(texts), key=lambda text: float(text.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
