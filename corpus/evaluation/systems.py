"""Evaluate a bundle's pipelines on judged queries.

Every query is ranked by all pipelines before the next one, and only its measured values are kept.
So memory does not grow with the number of ranked documents.

Consistency is how much of what a pipeline finds a baseline also finds (Zhan et al., eq. 5). A
reranker that was trained on the baseline's candidates has never seen the other documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.ranked import RankedMeasure, parse_ranked
from ranklet.corpus.evaluation.significance import Comparison, compare
from ranklet.corpus.progress import progress
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.options import as_list, check_integer
from ranklet.runtime.pipelines.pipeline import PipelineLike

MEASURES = ("MRR@10", "nDCG@10", "R@100")
SIGNIFICANT = ((0.01, "‡"), (0.05, "†"))  # marks of p-values below a bound, strictest first

Hits = Sequence[tuple[str, float]]  # (document id, score), best first
Watcher = Callable[[str, Mapping[str, Hits]], None]  # of a query's id and its hits by pipeline

REFERENCE_DEPTH = 1000  # ranks of the baseline that count


@dataclass(frozen=True)
class Evaluation:
    """The measured values of a pipeline.

    Attributes:
        pipeline: the pipeline's name.
        values: the value of each query by measure, in the order of the queries.
    """

    pipeline: str
    values: Mapping[str, NDArray[np.float64]]

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(next(iter(self.values.values()), ()))

    def mean(self, measure: str) -> float:
        """Return the mean over queries."""
        return float(self.values[measure].mean())


def evaluate(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    pipelines: Mapping[str, PipelineLike],
    *,
    measures: Sequence[str] = MEASURES,
    depth: int = 1000,
    watchers: Sequence[Watcher] = (),
) -> list[Evaluation]:
    """Rank every query by every pipeline and measure the rankings, which are not kept.

    Args:
        bundle: a bundle with a collection.
        queries: judged queries that were not used for training or tuning.
        pipelines: the pipelines by name.
        measures: names of measures; see `parse_ranked`.
        depth: number of documents to rank per query, at least 1.
        watchers: called for each query, in their order, with its id and its hits by pipeline.

    Raises:
        InputError: a measure is unknown, or the depth is below 1.
    """
    check_integer("the depth", depth, 1)
    queries = as_list(queries, "queries", "such as those of read_split")
    wanted = {name: parse_ranked(name) for name in as_list(measures, "measures", "as ['MRR@10']")}
    for recipe in pipelines.values():  # to report mistakes before hours of ranking
        bundle.manifest.pipeline(recipe)
    values = {name: {key: np.zeros(len(queries)) for key in wanted} for name in pipelines}
    for row, query in enumerate(progress(queries, f"evaluating {', '.join(pipelines)}")):
        rankings = {
            name: bundle.rank_ids(query.text, k=depth, pipeline=recipe)
            for name, recipe in pipelines.items()
        }
        for watcher in watchers:
            watcher(query.id, rankings)
        for name, hits in rankings.items():
            for key, value in _values(query, hits, wanted).items():
                values[name][key][row] = value
    return [Evaluation(name, values[name]) for name in pipelines]


def measure_run(
    queries: Sequence[JudgedQuery], run: Mapping[str, Hits], measures: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Return the value of each query in a run of any system, (queries,) float64 by measure.

    Args:
        queries: judged queries.
        run: the hits of each query by its id, best first.
        measures: measures as `evaluate` takes them.

    Raises:
        InputError: a measure is unknown.
    """
    wanted = {name: parse_ranked(name) for name in measures}
    rows = [_values(query, run.get(query.id, ()), wanted) for query in queries]
    return {name: np.array([row[name] for row in rows]) for name in measures}


def comparisons(
    evaluations: Sequence[Evaluation], measure: str, baseline: str
) -> dict[str, Comparison]:
    """Compare every system with a baseline by paired t-tests, with Holm's correction over all.

    One that equals the baseline on every query by every measure is not compared, because it would
    count as a test. A single query allows no test, so there is no comparison.
    """
    own = next(each for each in evaluations if each.pipeline == baseline)
    others = [
        each.pipeline
        for each in evaluations
        if not all(np.array_equal(each.values[name], own.values[name]) for name in own.values)
    ]
    if not others or len(evaluations[0].values[measure]) < 2:
        return {}
    values = {evaluation.pipeline: evaluation.values[measure] for evaluation in evaluations}
    tested = compare(values, pairs=[(name, baseline) for name in others])
    return dict(zip(others, tested, strict=True))


def table(evaluations: Sequence[Evaluation], baseline: str) -> str:
    """Return a plain-text table with one system per line, its means and marks of significance."""
    measures = list(evaluations[0].values)
    against = {measure: comparisons(evaluations, measure, baseline) for measure in measures}
    width = max(6, *(len(evaluation.pipeline) for evaluation in evaluations))
    lines = [f"{'system':{width}}  " + "  ".join(f"{name:>9} " for name in measures)]
    for evaluation in evaluations:
        cells = []
        for measure in measures:
            compared = against[measure].get(evaluation.pipeline)
            cells.append(
                f"{evaluation.mean(measure):9.4f}{mark(compared.p_holm) if compared else ' '}"
            )
        lines.append(f"{evaluation.pipeline:{width}}  " + "  ".join(cells))
    count = evaluations[0].queries
    lines.append(
        f"{count} {'query' if count == 1 else 'queries'}; against {baseline}: "
        "† p < .05, ‡ p < .01 (two-sided paired t-test, Holm)"
    )
    return "\n".join(lines)


def mark(p: float) -> str:
    """Return the significance mark of a p-value.

    >>> mark(0.001), mark(0.03), mark(0.2)
    ('‡', '†', ' ')
    """
    return next((sign for most, sign in SIGNIFICANT if p < most), " ")


def _values(
    query: JudgedQuery, hits: Hits, measures: Mapping[str, RankedMeasure]
) -> dict[str, float]:
    grades = np.array([query.relevant.get(name, 0) for name, _ in hits], np.float64)
    relevant = np.sort(np.array([*query.relevant.values()], np.float64))[::-1]
    return {name: measure.value(grades, relevant) for name, measure in measures.items()}


class Consistency:
    """C_{f,n} of all pipelines but the first, which is the baseline, counted query by query.

    Args:
        n: number of a pipeline's documents that count, at least 1.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._shares: dict[str, list[float]] = {}

    def add(self, _: str, rankings: Mapping[str, Hits]) -> None:
        """Count a query; where a pipeline finds nothing, the query is skipped.

        Args:
            _: the query's id, which a watcher of `evaluate` gets.
            rankings: the hits by pipeline, the baseline first.
        """
        baseline, *others = rankings
        for name in others:
            shares = self._shares.setdefault(name, [])
            if rankings[name]:
                shares.append(share(rankings[name], rankings[baseline], self._n))

    def means(self) -> dict[str, float]:
        """Return the mean share over the queries by pipeline, 0 without a query."""
        return {
            name: float(np.mean(shares)) if shares else 0.0 for name, shares in self._shares.items()
        }


def share(hits: Hits, reference: Hits, n: int) -> float:
    """Return the share of the first n hits that are among the first 1,000 of a reference.

    Args:
        hits: hits of the retriever f, (document id, score), best first; there is at least one.
        reference: the same of the baseline.
        n: number of hits that count, at least 1.

    >>> share([("a", 2.0), ("b", 1.0)], [("b", 9.0)], 2)
    0.5
    """
    top = {name for name, _ in hits[:n]}
    known = {name for name, _ in reference[:REFERENCE_DEPTH]}
    return len(top & known) / len(top)
