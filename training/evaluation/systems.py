"""Evaluation of a bundle's pipelines on judged queries, through ir-measures (trec_eval)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from subprocess import SubprocessError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.runtime.pipeline.resolve import Recipe, chosen
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.significance import Comparison, compare
from ranklet.training.progress import progress

MEASURES = ("MRR@10", "nDCG@10", "R@100")
SIGNIFICANT = ((0.01, "‡"), (0.05, "†"))  # mark by largest p, strictest first

Run = dict[str, list[tuple[str, float]]]  # query id → (document id, score), best first


@dataclass(frozen=True)
class Evaluation:
    """What a pipeline reached.

    Attributes:
        pipeline: its name.
        values: by measure, the value of each query, in the order of the queries.
        run: what was ranked.
    """

    pipeline: str
    values: Mapping[str, NDArray[np.float64]]
    run: Run

    def mean(self, measure: str) -> float:
        """Return the mean over queries."""
        return float(self.values[measure].mean())


def evaluate(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    pipelines: Mapping[str, Recipe],
    *,
    measures: Sequence[str] = MEASURES,
    depth: int = 1000,
) -> list[Evaluation]:
    """Rank every query by every pipeline and measure.

    Args:
        bundle: with a collection.
        queries: judged ones that nothing was trained or tuned on.
        pipelines: by name.
        measures: as ir-measures writes them; MRR@k is RR@k.
        depth: documents ranked for each query.

    Raises:
        InputError: an unknown measure.
    """
    wanted = {name: _measure(name) for name in measures}
    for recipe in pipelines.values():  # a mistake is told before hours of ranking
        chosen(recipe, bundle.manifest)
    found = []
    for name, recipe in pipelines.items():
        run = {
            query.id: bundle.rank_ids(query.text, k=depth, pipeline=recipe)
            for query in progress(queries, f"evaluating {name}")
        }
        found.append(Evaluation(name, _values(queries, run, wanted), run))
    return found


def comparisons(
    evaluations: Sequence[Evaluation], measure: str, baseline: str
) -> dict[str, Comparison]:
    """Compare every system with a baseline: paired t-tests, Holm's correction over all of them.

    Of a single query nothing can be tested: then there is no comparison.
    """
    others = [each.pipeline for each in evaluations if each.pipeline != baseline]
    if not others or len(evaluations[0].values[measure]) < 2:
        return {}
    values = {each.pipeline: each.values[measure] for each in evaluations}
    tested = compare(values, pairs=[(name, baseline) for name in others])
    return dict(zip(others, tested, strict=True))


def untied(hits: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return a run's hits with scores that fall, for a file that trec_eval will read.

    It ignores ranks and orders equal scores by document id, backwards: the file would measure
    otherwise than what was ranked. Each of equal scores is one step of float32 below the one
    before it; trec_eval holds no finer.

    >>> [score < 0.5 for _, score in untied([("a", 0.5), ("b", 0.5), ("c", 0.25)])]
    [False, True, True]
    """
    found: list[tuple[str, float]] = []
    below = np.float32(np.inf)
    for name, score in hits:
        single = min(np.float32(score), below)
        found.append((name, float(single)))
        below = np.nextafter(single, np.float32(-np.inf))
    return found


def table(
    evaluations: Sequence[Evaluation], baseline: str, *, labels: Mapping[str, str] | None = None
) -> str:
    """Return a table in plain text: a system a line, its means, and marks of significance."""
    measures = list(evaluations[0].values)
    against = {measure: comparisons(evaluations, measure, baseline) for measure in measures}
    names = {
        each.pipeline: (labels or {}).get(each.pipeline, each.pipeline) for each in evaluations
    }
    width = max(6, *(len(name) for name in names.values()))
    lines = [f"{'system':{width}}  " + "  ".join(f"{name:>9} " for name in measures)]
    for each in evaluations:
        cells = []
        for measure in measures:
            compared = against[measure].get(each.pipeline)
            cells.append(f"{each.mean(measure):9.4f}{mark(compared.p_holm) if compared else ' '}")
        lines.append(f"{names[each.pipeline]:{width}}  " + "  ".join(cells))
    lines.append(
        f"{len(evaluations[0].run)} queries; against {names[baseline]}: † p < .05, ‡ p < .01 "
        "(two-sided paired t-test, Holm)"
    )
    return "\n".join(lines)


def mark(p: float) -> str:
    """Return the mark of a p-value.

    >>> mark(0.001), mark(0.03), mark(0.2)
    ('‡', '†', ' ')
    """
    return next((sign for most, sign in SIGNIFICANT if p < most), " ")


def _measure(name: str) -> Any:
    import ir_measures

    known = name.replace("MRR@", "RR@") if name.startswith("MRR@") else name
    try:
        return ir_measures.parse_measure(known)
    except (ValueError, NameError, SyntaxError) as error:
        raise InputError(
            f"unknown measure {name!r}; ir-measures knows names such as {', '.join(MEASURES)}, "
            "AP, P@20, nDCG@20"
        ) from error


def _values(
    queries: Sequence[JudgedQuery], run: Run, measures: Mapping[str, Any]
) -> dict[str, NDArray[np.float64]]:
    import ir_measures

    row = {query.id: at for at, query in enumerate(queries)}
    values = {name: np.zeros(len(queries)) for name in measures}
    qrels = [
        ir_measures.Qrel(query.id, name, grade)
        for query in queries
        for name, grade in query.relevant.items()
    ]
    # trec_eval orders equal scores by document id, backwards; ours are in rank order already, so
    # it gets the rank as the score and ranks as the user saw it.
    scored = [
        ir_measures.ScoredDoc(query, name, -float(at))
        for query, hits in run.items()
        for at, (name, _) in enumerate(hits)
    ]
    by_measure: dict[Any, list[str]] = {}  # MRR@10 and RR@10 are one
    for name, measure in measures.items():
        by_measure.setdefault(measure, []).append(name)
    try:
        for found in ir_measures.iter_calc(list(by_measure), qrels, scored):
            for name in by_measure[found.measure]:
                values[name][row[found.query_id]] = found.value
    except (ValueError, SubprocessError) as error:  # nothing that is installed can compute it
        told = str(error).splitlines()[0]
        raise InputError(f"{', '.join(measures)} cannot be measured: {told}") from error
    return values
