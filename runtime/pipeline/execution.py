"""Running a pipeline: candidates and their scores, a column a ranker or fusion, stage by stage."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Timing
from ranklet.runtime.pipeline import fusion
from ranklet.runtime.pipeline.candidates import Candidates, StoredCandidates
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.prefetch import encode_ahead
from ranklet.runtime.pipeline.stages import Fuse, Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.pipeline.topk import top_k
from ranklet.runtime.rankers.protocol import QueryContext, Ranker, first_slice
from ranklet.runtime.storage.documents import Documents


class Execution:
    """One query's way through one pipeline.

    Where time runs out, a ranker's stage is left out, or scores only the best candidates so far. A
    fusion adds up what there is, and a candidate without a score counts as the lowest of them: the
    order is that of what was done. The first stage is always done, and so is cutting.

    Args:
        pipeline: the recipe.
        ranker: gives an opened ranker by name.
        documents: the collection.
        query: the query.
        given: the caller's own texts; the recipe's retrieve stages then score all of them.
        deadline: when to stop.

    Attributes:
        left_out: the stages that were not done, or not for all candidates, in words.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        ranker: Callable[[str], Ranker],
        documents: Documents | None,
        query: QueryContext,
        given: Candidates | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self._pipeline, self._ranker, self._query = pipeline, ranker, query
        self._documents, self._given = documents, given
        self._deadline = Deadline() if deadline is None else deadline
        self._fusions: dict[str, Fuse] = {}
        self._columns: dict[str, NDArray[np.float32]] = {}
        # Of a fusion by ranks: each input's ranks when it was made, (inputs, candidates) float64.
        self._ranks: dict[str, NDArray[np.float64]] = {}
        # What stands in for scores that there was no time for, by ranker.
        self._floors: dict[str, float] = {}
        self._ordered_by = pipeline.rankers()[0]
        # The order before a stage that did not score all: it tells the others apart, (candidates,).
        self._places: NDArray[np.intp] | None = None
        self.candidates: Candidates = (
            self._stored(np.empty(0, np.uint32)) if given is None else given
        )
        self.timings: list[Timing] = []
        self.left_out: list[str] = []

    def run(self) -> None:
        """Run every stage that there is time for."""
        if not self._deadline.limited:  # else a ranker may not be opened, nor needed
            encode_ahead(map(self._ranker, self._pipeline.rankers()[1:]), self._query)
        for at, stage in enumerate(self._pipeline.stages):
            begin = perf_counter()
            if isinstance(stage, Keep):
                self._select(self._best(stage.k))
            elif isinstance(stage, Fuse):
                self._fuse(stage)
            elif at and self._deadline.passed:
                self.left_out.append(str(stage))
                continue
            elif isinstance(stage, Retrieve) and self._given is None:
                self._retrieve(stage)
            else:
                self._rescore(stage, self._deadline if at else Deadline())
            self.timings.append(Timing(str(stage), (perf_counter() - begin) * 1e3))

    @property
    def budget_spent(self) -> bool:
        """True if and only if time ran out, or so nearly that something was left out."""
        return bool(self.left_out) or self._deadline.passed

    def top(self, k: int) -> tuple[Candidates, NDArray[np.intp], NDArray[np.float32]]:
        """Return the k best candidates, their positions among all, and their scores, best first."""
        best = self._best(k)
        return self.candidates.select(best), best, self.final()[best]

    def final(self) -> NDArray[np.float32]:
        """Return the final score of every candidate, in their own order; (candidates,) float32."""
        return self._filled(self._ordered_by)

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
        found = self._explain(self._ordered_by, position)
        if self.left_out:
            found = replace(found, label=f"{found.label} (no time for: {'; '.join(self.left_out)})")
        return found

    def _stored(self, numbers: NDArray[np.uint32]) -> Candidates:
        if self._documents is None:
            told = "give documents=[…], or add a collection with `ranklet index`"
            raise BundleError(f"this bundle has no collection: {told}")
        return StoredCandidates(self._documents, numbers)

    def _retrieve(self, stage: Retrieve) -> None:
        ranker = self._ranker(stage.ranker)
        with np.errstate(all="ignore"):  # damaged numbers are told by the ranker
            numbers, scores = ranker.retrieve(self._query, stage.k)
        self._merge(stage.ranker, numbers, scores)
        self._ordered_by = stage.ranker

    def _rescore(self, stage: Retrieve | Rescore, deadline: Deadline) -> None:
        name, count = stage.ranker, len(self.candidates)
        column, order = self._scored(name, np.full(count, np.nan, np.float32), deadline)
        missing = int(np.isnan(column).sum())
        if missing:
            self.left_out.append(f"{stage}: {missing:,} of {count:,} candidates")
            if missing == count:  # opening the ranker took all the time there was
                return
            self._places = np.empty(count, np.intp)
            self._places[order] = np.arange(count)
        self._columns[name] = column
        self._filled(name)  # what is missing stays so: a fusion need not try again
        self._ordered_by = name

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

    def _scored(
        self, name: str, column: NDArray[np.float32], deadline: Deadline
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return a column with the scores that it lacks, best candidates first while time lasts.

        With it the positions of all candidates, best first, where that mattered.
        """
        first = first_slice(self._ranker(name), texts=self.candidates.stored is None)
        known = deadline.limited and self._columns
        order = self._best(len(column)) if known else np.arange(len(column))
        missing = order[np.isnan(column[order])]
        column = column.copy()
        for part in deadline.slices(len(missing), first):
            at = missing[part]
            if len(at) == len(column):  # all at once: texts that were analysed are known
                column = self._scores(name, self.candidates)
            else:
                column[at] = self._scores(name, self.candidates.select(at))
        return column, order

    def _fuse(self, stage: Fuse) -> None:
        there = [at for at, name in enumerate(stage.inputs) if name in self._columns]
        if not there:
            self.left_out.append(str(stage))
            return
        inputs = tuple(stage.inputs[at] for at in there)
        weights = tuple(stage.weights[at] for at in there if stage.weights)
        done = replace(stage, inputs=inputs, weights=weights)
        self._columns[stage.name] = self._fused(done)
        self._fusions[stage.name] = done
        self._ordered_by = stage.name

    def _fused(self, stage: Fuse) -> NDArray[np.float32]:
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
        if name not in self._floors and np.isnan(column).any():
            column = self._columns[name] = self._scored(name, column, self._deadline)[0]
            if missing := int(np.isnan(column).sum()):
                self.left_out.append(f"score {missing:,} more candidates by {name}")
        return self._filled(name)

    def _filled(self, name: str) -> NDArray[np.float32]:
        """Return a column in which the lowest score stands for those there was no time for."""
        column = self._columns[name]
        unscored = np.isnan(column)
        if not unscored.any():
            return column
        if name not in self._floors:
            self._floors[name] = 0.0 if unscored.all() else float(np.nanmin(column))
        return np.where(unscored, np.float32(self._floors[name]), column)

    def _scale(self, name: str) -> float:
        return 1.0 if name in self._fusions else self._ranker(name).scale(self._query)

    def _best(self, k: int) -> NDArray[np.intp]:
        column = self._columns[self._ordered_by]
        unscored = np.isnan(column)
        partial = self._places is not None and unscored.any()
        ties = self._places if partial else self.candidates.stored
        return top_k(np.where(unscored, -np.inf, column), k, ties=ties)

    def _select(self, positions: NDArray[np.intp]) -> None:
        self.final()  # the lowest score is that of all candidates, also of those cut here
        self.candidates = self.candidates.select(positions)
        self._columns = {name: column[positions] for name, column in self._columns.items()}
        self._ranks = {name: ranks[:, positions] for name, ranks in self._ranks.items()}
        if self._places is not None:
            self._places = self._places[positions]

    def _explain(self, name: str, position: int) -> Explanation:
        if np.isnan(self._columns[name][position]):
            label = f"{name}: no time to score it, the lowest score counts"
            return Explanation(label, self._floors[name])
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
