"""Teach a bundle how likely its hits answer a query, by judged queries."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter, check_source, check_target
from ranklet.corpus.collections.splits import JudgedQuery, groups
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.calibration import calibration_error, fit_logistic
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.runtime.pipelines.relevance import Calibration, chances, read_calibration
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.workflows.learn.judgements import read_judgements
from ranklet.workflows.learn.parts import merge_splits

LEAST = 50  # judged queries
READ = 3  # best hits of each query; of the others hardly any is relevant
PULL = 2  # queries that say as much as what ranklet brings; chosen among 1 to 16
FOLDS = 5  # of the cross-validation that tells how true the probabilities are


class Examples(NamedTuple):
    """Hits of judged queries, half of which have no answer among the documents."""

    numbers: NDArray[np.float64]  # what `Bundle.evidence` says, (hits, features)
    relevant: NDArray[np.float64]  # 1 or 0, (hits,)
    weights: NDArray[np.float64]  # what each counts, (hits,)
    query: NDArray[np.intp]  # which one, (hits,)
    best: NDArray[np.bool_]  # whether it is its query's first hit, (hits,)

    def of(self, chosen: NDArray[np.bool_]) -> "Examples":
        """Return some of the hits; `chosen` is (hits,)."""
        return Examples._make(each[chosen] for each in self)


class Refit(NamedTuple):
    """What judged queries teach of a pipeline.

    Attributes:
        calibration: the new one.
        before: the calibration error of the best hits with what ranklet brings; None for nothing.
        after: the same of queries that each fold did not learn from.
    """

    calibration: Calibration
    before: float | None
    after: float

    def __str__(self) -> str:
        before = "" if self.before is None else f" (before: {self.before:.3f})"
        return (
            f"{self.calibration.queries:,} judged queries; calibration error "
            f"{self.after:.3f}{before}, of queries that were not learned from and half of which "
            "have no answer"
        )


def calibrate(
    bundle: BundleLike,
    judged: str | Path,
    target: str | Path,
    *,
    pipeline: str | None = None,
    overwrite: bool = False,
) -> Refit:
    """Write a bundle whose hits say how likely they answer a query, as judged queries teach it.

    Args:
        bundle: any bundle with documents, on disk.
        judged: a folder of judged queries, or a table of clicks, see `read_judgements`.
        target: a folder, or a path that ends in .zip.
        pipeline: the pipeline whose scores are read; None is the default.
        overwrite: whether a bundle at the target is replaced.

    Raises:
        InputError: there are fewer than 50 judged queries.
        BundleError: the bundle cannot be read.
        BuildError: the target exists, or is not a bundle and nothing else.
    """
    check_source(source := on_disk(bundle), target)
    check_target(place := writable(target), overwrite)
    with load(source, check="full") as opened:
        refuse_additions(opened.files)
        splits = read_judgements(Path(judged), opened.files.need_documents())
        queries = merge_splits(splits)
        if len(queries) < LEAST:
            raise InputError(
                f"{len(queries)} judged queries say too little of how likely hits answer a query; "
                f"judge {LEAST} or more, for example with `ranklet judge`"
            )
        found, manifest = refit(opened, queries, pipeline), opened.manifest
        own = found.calibration
        others = tuple(each for each in manifest.relevance if each.rankers != own.rankers)
        with BundleWriter(place, overwrite=overwrite) as writer:
            writer.copy(opened.files)
            writer.finish(replace(manifest, relevance=(*others, own)))
    return found


def refit(bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: PipelineLike = None) -> Refit:
    """Return how likely a pipeline's hits answer a query, as judged queries teach it.

    The errors are of queries that each fold has not learned from. Queries that share relevant
    documents are in one fold.

    Raises:
        InputError: all queries share relevant documents.
    """
    found = gather_examples(bundle, queries, pipeline)
    names = bundle.manifest.pipeline(pipeline).rankers
    brought = read_calibration(names, bundle.manifest.compared(names), ())
    prior = None if brought is None else brought.weights
    after, folds = np.empty(len(found.query)), cut_folds(queries)[found.query]
    for fold in np.unique(folds):
        held = folds == fold
        after[held] = chances(found.numbers[held], fit(found.of(~held), prior))
    return Refit(
        Calibration(names, fit(found, prior), len(queries)),
        None if prior is None else take_error(found, chances(found.numbers, prior)),
        take_error(found, after),
    )


def gather_examples(
    bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: PipelineLike = None
) -> Examples:
    """Return the best hits of judged queries with their evidence.

    People also ask what no document answers, so half of the queries count as if they had no answer.
    A query that has one is asked with it and without it, and both count together as one query.
    """
    answered = sum(bool(query.relevant) for query in queries)
    share = min(1.0, len(queries) / 2 / max(1, answered))  # of a query with its answers
    rows = []
    for number, query in enumerate(progress(queries, "ranking judged queries")):
        asked: dict[tuple[str, ...], float] = {(): share if query.relevant else 1.0}
        asked |= {tuple(query.relevant): 1 - share} if query.relevant else {}
        for hide in (each for each, weight in asked.items() if weight):
            ids, _, numbers = bundle.evidence(query.text, READ, pipeline, hide=hide)
            best = np.arange(len(ids)) == 0
            relevant = np.array([float(each in query.relevant) for each in ids])
            counts = asked[hide] * np.where(best, 1.0, 0.5)  # the others are seen less
            rows.append((numbers, relevant, counts, np.full(len(ids), number), best))
    if not any(len(best) for *_, best in rows):
        raise InputError("no judged query finds anything, so there is nothing to learn from")
    return Examples._make(map(np.concatenate, zip(*rows, strict=True)))


def fit(found: Examples, prior: tuple[float, ...] | None) -> tuple[float, ...]:
    """Return the weights of a calibration; few queries hardly move them from a prior's."""
    ridge = (1 if prior is None else PULL) / len(np.unique(found.query))
    return fit_logistic(found.numbers, found.relevant, found.weights, ridge=ridge, prior=prior)


def cut_folds(queries: Sequence[JudgedQuery]) -> NDArray[np.intp]:
    """Return the fold of each query, (queries,); those that share relevant documents have one."""
    group = groups({query.id: query.relevant for query in queries})
    sizes, filled, fold = Counter(group.values()), np.zeros(FOLDS, np.intp), dict[str, int]()
    for name, size in sizes.most_common():
        fold[name] = int(filled.argmin())
        filled[fold[name]] += size
    if len(sizes) == 1:
        raise InputError(
            "all judged queries share relevant documents, so none can be kept to see what the "
            "others have taught; judge more queries"
        )
    return np.array([fold[group[query.id]] for query in queries], np.intp)


def take_error(found: Examples, told: NDArray[np.float64]) -> float:
    """Return the calibration error of the queries' first hits, of which `told` has all, (hits,)."""
    best = found.best
    return calibration_error(told[best], found.relevant[best], found.weights[best])
