"""Compare pipelines with a run that was written before, and say whether one has become worse."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.collections.trec import read_run
from ranklet.corpus.evaluation.systems import Evaluation, measure_run
from ranklet.runtime.ground.errors import InputError

_BELOW, _ABOVE = "<", ">"
_CONDITION = re.compile(r"\s*(\S+?)\s*([<>])\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*")


class Condition(NamedTuple):
    """A bound on the mean difference from a baseline, such as "nDCG@10 < -0.01"."""

    measure: str
    sign: str
    bound: float

    def holds(self, evaluation: Evaluation, baseline: Evaluation) -> bool:
        """Return whether the difference of a pipeline from the baseline is beyond the bound."""
        difference = evaluation.mean(self.measure) - baseline.mean(self.measure)
        return difference < self.bound if self.sign == _BELOW else difference > self.bound


def parse_condition(text: str, measures: Sequence[str]) -> Condition:
    """Read a condition.

    Raises:
        InputError: it has another form, or names none of the measures.

    >>> parse_condition("nDCG@10 < -.01", ["nDCG@10"])
    Condition(measure='nDCG@10', sign='<', bound=-0.01)
    """
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in measures:
        raise InputError(
            f"the condition is {text[:60]!r}; give one of the measures {', '.join(measures)}, then "
            f'{_BELOW} or {_ABOVE} and a difference from the baseline, such as "{measures[0]} '
            f'< -0.01"'
        )
    return Condition(match[1], match[2], float(match[3]))


def read_baseline(
    path: str | Path, queries: Sequence[JudgedQuery], measures: Sequence[str]
) -> tuple[Evaluation, list[int]]:
    """Return what a TREC run of any system reaches, named after its file.

    It counts as having found nothing for a query that has no line. The places of these queries are
    returned, too, because the run may be one of other queries.

    Raises:
        CollectionError: the run cannot be read.
        InputError: it has none of the queries.
    """
    run = read_run(path)
    unlisted = [at for at, query in enumerate(queries) if query.id not in run]
    if len(unlisted) == len(queries):
        raise InputError(
            f"the run {str(path)!r} has none of the {len(queries):,} queries; give a run of the "
            "same split, which `ranklet eval --runs` writes"
        )
    hits = {name: sorted(of.items(), key=lambda hit: -hit[1]) for name, of in run.items()}
    return Evaluation(Path(path).name, measure_run(queries, hits, measures)), unlisted


def differences(
    evaluation: Evaluation, baseline: Evaluation, measure: str, queries: Sequence[JudgedQuery]
) -> list[tuple[JudgedQuery, float, float]]:
    """Return the queries whose value changed, largest loss first, with the old and the new one."""
    old, new = baseline.values[measure], evaluation.values[measure]
    order = np.argsort(new - old, kind="stable")
    return [(queries[at], float(old[at]), float(new[at])) for at in order if old[at] != new[at]]
