"""Running a pipeline: candidates and their scores, a column a ranker or fusion, stage by stage."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime import fusion
from ranklet.runtime.candidates import Candidates, StoredCandidates
from ranklet.runtime.documents import Documents
from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Timing
from ranklet.runtime.pipeline import Fuse, Pipeline, Rescore, Retrieve
from ranklet.runtime.ranker import Query, Ranker
from ranklet.runtime.topk import top_k


class Execution:
    """One query's way through one pipeline.

    Args:
        pipeline: the recipe.
        ranker: gives an opened ranker by name.
        documents: the collection.
        query: the query.
        given: the caller's own texts; the recipe's retrieve stages then score all of them.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        ranker: Callable[[str], Ranker],
        documents: Documents | None,
        query: Query,
        given: Candidates | None = None,
    ) -> None:
        self._pipeline, self._ranker, self._query = pipeline, ranker, query
        self._documents, self._given = documents, given
        self._fusions: dict[str, Fuse] = {}
        self._columns: dict[str, NDArray[np.float32]] = {}
        # Of a fusion by ranks: each input's ranks when it was made, (inputs, candidates) float64.
        self._ranks: dict[str, NDArray[np.float64]] = {}
        self._ordered_by = pipeline.rankers()[0]
        self.candidates: Candidates = (
            self._stored(np.empty(0, np.uint32)) if given is None else given
        )
        self.timings: list[Timing] = []

    def run(self) -> None:
        """Run every stage."""
        for stage in self._pipeline.stages:
            begin = perf_counter()
            if isinstance(stage, Retrieve):
                self._retrieve(stage)
            elif isinstance(stage, Rescore):
                self._columns[stage.ranker] = self._scores(stage.ranker, self.candidates)
                self._ordered_by = stage.ranker
            elif isinstance(stage, Fuse):
                self._columns[stage.name] = self._fuse(stage)
                self._fusions[stage.name] = stage
                self._ordered_by = stage.name
            else:
                self._select(self._best(stage.k))
            self.timings.append(Timing(str(stage), (perf_counter() - begin) * 1e3))

    def top(self, k: int) -> tuple[Candidates, NDArray[np.intp], NDArray[np.float32]]:
        """Return the k best candidates, their positions among all, and their scores, best first."""
        best = self._best(k)
        return self.candidates.select(best), best, self._columns[self._ordered_by][best]

    def final(self) -> NDArray[np.float32]:
        """Return the final score of every candidate, in their own order; (candidates,) float32."""
        return self._columns[self._ordered_by]

    def scaled(self) -> dict[str, NDArray[np.float32]]:
        """Return what a linear fusion multiplies by its weights: scale · score, by ranker."""
        return {
            name: (self._complete(name) * self._scale(name)).astype(np.float32)
            for name in self._columns
        }

    def providers(self) -> dict[str, str]:
        """Return what each ranker's model ran on, for the rankers that have a model."""
        found = {
            name: getattr(self._ranker(name), "provider", "")
            for name in self._columns
            if name not in self._fusions
        }
        return {name: provider for name, provider in found.items() if provider}

    def truncated(self) -> dict[str, int]:
        """Return how many texts each ranker's model cut, for those that cut any."""
        return dict(self._query.truncated)

    def explain(self, position: int) -> Explanation:
        """Explain the final score of the candidate at a position."""
        return self._explain(self._ordered_by, position)

    def _stored(self, numbers: NDArray[np.uint32]) -> Candidates:
        if self._documents is None:
            raise BundleError(
                "this bundle has no collection: give documents=[…], or run `ranklet index` to add "
                "a collection to it"
            )
        return StoredCandidates(self._documents, numbers)

    def _retrieve(self, stage: Retrieve) -> None:
        if self._given is not None:
            self._columns[stage.ranker] = self._scores(stage.ranker, self.candidates)
        else:
            ranker = self._ranker(stage.ranker)
            with np.errstate(all="ignore"):  # damaged numbers are told by the ranker
                numbers, scores = ranker.retrieve(self._query, stage.k)
            self._merge(stage.ranker, numbers, scores)
        self._ordered_by = stage.ranker

    def _merge(self, ranker: str, numbers: NDArray[np.uint32], scores: NDArray[np.float32]) -> None:
        """Add a list: documents that are new become candidates, NaN where a list lacks them."""
        held = self.candidates.stored
        if held is None or not self._columns:  # the first list
            self.candidates = self._stored(numbers)
            self._columns[ranker] = scores
            return
        new = numbers[~np.isin(numbers, held)]
        merged = np.append(held, new)
        for name, column in self._columns.items():
            self._columns[name] = np.append(column, np.full(len(new), np.nan, np.float32))
        order = np.argsort(merged)
        found = np.full(len(merged), np.nan, np.float32)
        found[order[np.searchsorted(merged, numbers, sorter=order)]] = scores
        self.candidates, self._columns[ranker] = self._stored(merged), found

    def _scores(self, ranker: str, candidates: Candidates) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):  # what is wrong with damaged numbers is told below
            scores = self._ranker(ranker).score(self._query, candidates)
        return _finite(scores, f"the ranker {ranker!r}")

    def _fuse(self, stage: Fuse) -> NDArray[np.float32]:
        columns = [self._columns[name] for name in stage.inputs]
        if not len(self.candidates):
            return np.empty(0, np.float32)
        if stage.method == "rrf":
            self._ranks[stage.name] = np.stack([fusion.ranks(column) for column in columns])
            return fusion.reciprocal_ranks(columns, stage.weights)
        if stage.method == "alternate":
            return fusion.alternate(columns)
        columns = [self._complete(name) for name in stage.inputs]
        with np.errstate(all="ignore"):
            scales = [self._scale(name) for name in stage.inputs]
            fused = fusion.linear(columns, stage.weights, scales)
        return _finite(fused, f"the fusion {stage.name!r}")

    def _complete(self, name: str) -> NDArray[np.float32]:
        """Score the candidates that a ranker did not return: a sum needs every term of it."""
        column = self._columns[name]
        missing = np.flatnonzero(np.isnan(column))
        if len(missing):
            column = column.copy()
            column[missing] = self._scores(name, self.candidates.select(missing))
            self._columns[name] = column
        return column

    def _scale(self, name: str) -> float:
        return 1.0 if name in self._fusions else self._ranker(name).scale(self._query)

    def _best(self, k: int) -> NDArray[np.intp]:
        column = self._columns[self._ordered_by]
        return top_k(np.where(np.isnan(column), -np.inf, column), k, ties=self.candidates.stored)

    def _select(self, positions: NDArray[np.intp]) -> None:
        self.candidates = self.candidates.select(positions)
        self._columns = {name: column[positions] for name, column in self._columns.items()}
        self._ranks = {name: ranks[:, positions] for name, ranks in self._ranks.items()}

    def _explain(self, name: str, position: int) -> Explanation:
        if name not in self._fusions:
            candidate = self.candidates.select(np.array([position]))
            return self._ranker(name).explain(self._query, candidate)
        stage = self._fusions[name]
        value = float(self._columns[name][position])
        if stage.method == "alternate":
            return Explanation(f"{stage}: 1 / place {round(1 / value)}", value)
        if stage.method == "rrf":
            ranks = self._ranks[name][:, position].tolist()
            return Explanation.total(
                str(stage),
                [
                    Explanation(f"{each}: rank {rank:.0f}", fusion.reciprocal(rank, weight))
                    for each, rank, weight in zip(stage.inputs, ranks, stage.weights, strict=True)
                    if not np.isnan(rank)
                ],
            )
        return Explanation.total(
            str(stage),
            (
                self._explain(each, position).scaled(
                    weight * self._scale(each), f"{weight:.4g}·{each}"
                )
                for each, weight in zip(stage.inputs, stage.weights, strict=True)
            ),
        )


def _finite(scores: NDArray[np.float32], source: str) -> NDArray[np.float32]:
    """Return the scores, or raise BundleError where one is not finite."""
    if not np.isfinite(scores).all():
        raise BundleError(
            f"{source} gave a score that is not finite: the bundle is damaged; run `ranklet "
            "verify` on it"
        )
    return scores
