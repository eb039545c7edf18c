"""Evaluate a bundle's pipelines on judged queries, through ir-measures (trec_eval).

Every query is ranked by all pipelines before the next one, and only its measured values are kept.
So memory does not grow with the number of ranked documents.

Consistency is how much of what a pipeline finds a baseline also finds (Zhan et al., eq. 5). A
reranker that was trained on the baseline's candidates has never seen the other documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from subprocess import SubprocessError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.runtime.pipeline import PipelineLike
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.significance import Comparison, compare
from ranklet.training.progress import progress

MEASURES = ("MRR@10", "nDCG@10", "R@100")
SIGNIFICANT = ((0.01, "‡"), (0.05, "†"))  # marks of p-values below a bound, strictest first
LARGEST_CUT = 1_000_000  # of a measure, in ranks
BLOCK_HITS = 100_000  # that are kept until they are measured together; each has some 130 bytes

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
        measures: names as in ir-measures, or MRR@k for RR@k.
        depth: number of documents to rank per query, at least 1.
        watchers: called for each query, in their order, with its id and its hits by pipeline.

    Raises:
        InputError: a measure is unknown, or the depth is below 1.
    """
    if depth < 1:
        raise InputError(f"the depth is {depth}; it must be a whole number from 1")
    wanted = {name: _measure(name) for name in measures}
    for recipe in pipelines.values():  # to report mistakes before hours of ranking
        bundle.manifest.pipeline(recipe)
    values = {name: {key: np.zeros(len(queries)) for key in wanted} for name in pipelines}
    runs: dict[str, dict[str, Hits]] = {name: {} for name in pipelines}
    block = max(1, BLOCK_HITS // depth // max(1, len(pipelines)))  # queries
    begin = 0
    for end, query in enumerate(progress(queries, f"evaluating {', '.join(pipelines)}"), 1):
        rankings = {
            name: bundle.rank_ids(query.text, k=depth, pipeline=recipe)
            for name, recipe in pipelines.items()
        }
        for watcher in watchers:
            watcher(query.id, rankings)
        for name, hits in rankings.items():
            runs[name][query.id] = hits
        if end - begin == block or end == len(queries):
            for name, run in runs.items():
                for key, measured in _values(queries[begin:end], run, wanted).items():
                    values[name][key][begin:end] = measured
                run.clear()
            begin = end
    return [Evaluation(name, values[name]) for name in pipelines]


def measured(
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
    return _values(queries, run, {name: _measure(name) for name in measures})


def comparisons(
    evaluations: Sequence[Evaluation], measure: str, baseline: str
) -> dict[str, Comparison]:
    """Compare every system with a baseline by paired t-tests, with Holm's correction over all.

    A single query allows no test, so there is no comparison.
    """
    others = [evaluation.pipeline for evaluation in evaluations if evaluation.pipeline != baseline]
    if not others or len(evaluations[0].values[measure]) < 2:
        return {}
    values = {evaluation.pipeline: evaluation.values[measure] for evaluation in evaluations}
    tested = compare(values, pairs=[(name, baseline) for name in others])
    return dict(zip(others, tested, strict=True))


def table(
    evaluations: Sequence[Evaluation], baseline: str, *, labels: Mapping[str, str] | None = None
) -> str:
    """Return a plain-text table with one system per line, its means and marks of significance."""
    measures = list(evaluations[0].values)
    against = {measure: comparisons(evaluations, measure, baseline) for measure in measures}
    names = {
        evaluation.pipeline: (labels or {}).get(evaluation.pipeline, evaluation.pipeline)
        for evaluation in evaluations
    }
    width = max(6, *(len(name) for name in names.values()))
    lines = [f"{'system':{width}}  " + "  ".join(f"{name:>9} " for name in measures)]
    for evaluation in evaluations:
        cells = []
        for measure in measures:
            compared = against[measure].get(evaluation.pipeline)
            cells.append(
                f"{evaluation.mean(measure):9.4f}{mark(compared.p_holm) if compared else ' '}"
            )
        lines.append(f"{names[evaluation.pipeline]:{width}}  " + "  ".join(cells))
    lines.append(
        f"{evaluations[0].queries} queries; against {names[baseline]}: † p < .05, ‡ p < .01 "
        "(two-sided paired t-test, Holm)"
    )
    return "\n".join(lines)


def mark(p: float) -> str:
    """Return the significance mark of a p-value.

    >>> mark(0.001), mark(0.03), mark(0.2)
    ('‡', '†', ' ')
    """
    return next((sign for most, sign in SIGNIFICANT if p < most), " ")


def _measure(name: str) -> Any:
    import ir_measures

    known = name.replace("MRR@", "RR@") if name.startswith("MRR@") else name
    try:
        measure = ir_measures.parse_measure(known)
        # trec_eval ends the process at a cut of 0 or of more than 32 bits.
        if not 1 <= measure.params.get("cutoff", 1) <= LARGEST_CUT:
            raise ValueError(f"the cut must be from 1 to {LARGEST_CUT:,}")
        return measure
    except (ValueError, NameError, SyntaxError) as error:
        raise InputError(
            f"unknown measure {name!r}; ir-measures knows names such as {', '.join(MEASURES)}, "
            "AP, P@20, nDCG@20"
        ) from error


def _values(
    queries: Sequence[JudgedQuery], run: Mapping[str, Hits], measures: Mapping[str, Any]
) -> dict[str, NDArray[np.float64]]:
    """Return the values of some queries, (queries,) float64 by measure."""
    import ir_measures

    row = {query.id: index for index, query in enumerate(queries)}
    values = {name: np.zeros(len(queries)) for name in measures}
    qrels = [
        ir_measures.Qrel(query.id, name, grade)
        for query in queries
        for name, grade in query.relevant.items()
    ]
    # trec_eval orders equal scores by descending document id. The hits are already in rank order,
    # so their negative ranks serve as scores and trec_eval measures the ranking as it is.
    scored = [
        ir_measures.ScoredDoc(query, name, -float(rank))
        for query, hits in run.items()
        for rank, (name, _) in enumerate(hits)
    ]
    by_measure: dict[Any, list[str]] = {}  # MRR@10 and RR@10 are the same measure
    for name, measure in measures.items():
        by_measure.setdefault(measure, []).append(name)
    try:
        for result in ir_measures.iter_calc(list(by_measure), qrels, scored):
            for name in by_measure[result.measure]:
                values[name][row[result.query_id]] = result.value
    except (ValueError, SubprocessError) as error:  # no installed package can compute it
        reason = str(error).splitlines()[0]
        raise InputError(f"{', '.join(measures)} cannot be measured: {reason}") from error
    return values


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
