"""Teach a bundle how likely its hits answer a query, by judged queries."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter, check_source, check_target
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.calibration import calibration_error, fit_logistic
from ranklet.export.learning.judgements import read_judgements
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.errors import InputError
from ranklet.runtime.pipeline import PipelineLike
from ranklet.runtime.relevance import SHIPPED, Calibration, chances
from ranklet.runtime.storage.address import BundleLike, on_disk, writable

LEAST = 50  # judged queries
READ = 3  # best hits of each query; of the others hardly any is relevant
FOLDS = 5  # of the cross-validation that tells how true the probabilities are


class Examples(NamedTuple):
    """Hits of judged queries."""

    numbers: NDArray[np.float64]  # `evidence` of all rankers, (hits, features)
    relevant: NDArray[np.float64]  # 1 or 0, (hits,)
    query: NDArray[np.intp]  # which one, (hits,)
    best: NDArray[np.bool_]  # whether it is its query's first hit, (hits,)

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each hit counts, (hits,); the first of a query twice as much as others."""
        return np.where(self.best, 1.0, 0.5)

    def of(self, chosen: NDArray[np.bool_]) -> "Examples":
        """Return some of the hits; `chosen` is (hits,)."""
        numbers, relevant, query, best = self
        return Examples(numbers[chosen], relevant[chosen], query[chosen], best[chosen])


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
            f"{self.after:.3f}{before}"
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
        queries = list({each.id: each for split in splits.values() for each in split}.values())
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
    """Return how likely a pipeline's hits answer a query, as judged queries teach it."""
    found = examples_of(bundle, queries, pipeline)
    names = bundle.manifest.pipeline(pipeline).rankers
    prior = SHIPPED.get(bundle.manifest.compared(names))
    after, folds = np.empty(len(found.query)), found.query % FOLDS
    for fold in range(FOLDS):
        held = folds == fold
        after[held] = chances(found.numbers[held], fit(found.of(~held), prior))
    return Refit(
        Calibration(names, fit(found, prior), len(queries)),
        None if prior is None else _error(found, chances(found.numbers, prior)),
        _error(found, after),
    )


def examples_of(
    bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: PipelineLike = None
) -> Examples:
    """Return the best hits of judged queries with their evidence."""
    rows: list[tuple[NDArray[np.float64], NDArray[np.float64], int, NDArray[np.bool_]]] = []
    for number, query in enumerate(progress(queries, "ranking judged queries")):
        ids, _, numbers = bundle.evidence(query.text, READ, pipeline)
        relevant = np.array([float(each in query.relevant) for each in ids])
        rows.append((numbers, relevant, number, np.arange(len(ids)) == 0))
    return Examples(
        np.concatenate([each[0] for each in rows]),
        np.concatenate([each[1] for each in rows]),
        np.concatenate([np.full(len(each[1]), each[2]) for each in rows]),
        np.concatenate([each[3] for each in rows]),
    )


def fit(found: Examples, prior: tuple[float, ...] | None) -> tuple[float, ...]:
    """Return the weights of a calibration; few queries hardly move them from a prior's."""
    ridge = 1 / len(np.unique(found.query))
    return fit_logistic(found.numbers, found.relevant, found.weights, ridge=ridge, prior=prior)


def _error(found: Examples, told: NDArray[np.float64]) -> float:
    return calibration_error(told[found.best], found.relevant[found.best])
