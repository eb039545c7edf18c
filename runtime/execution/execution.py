"""Run a pipeline stage by stage on candidates with one score column per ranker or fusion."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import (
    Candidates,
    StoredCandidates,
    TextCandidates,
    list_numbers,
)
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask, both
from ranklet.runtime.call.protocol import Ranker, Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.execution import fusion
from ranklet.runtime.execution.prefetch import encode_ahead
from ranklet.runtime.ground.errors import BundleError, InputError, NoVectorError, damaged
from ranklet.runtime.ground.sets import add_new, among
from ranklet.runtime.hits import Timing
from ranklet.runtime.pipelines.pipeline import Boost, Fuse, Keep, Pipeline, Rescore, Retrieve

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundles.documents import Documents

T = TypeVar("T", bound=np.floating[Any])

QUERY = -1  # the query's place among the texts of a call
BOOSTED = "boosted score"  # the column of scores that metadata add to, which no ranker is named

# Returns what each signal of a boost says of some documents, (signals, documents) float64.
Amounts = Callable[[Boost, NDArray[np.uint32]], NDArray[np.float64]]


def name_feature(field: str) -> str:
    """Return the name of what a field's signal adds, which no ranker has."""
    return f"boost by {field}"


class Execution:
    """The execution of one pipeline for one query.

    If time runs out, a ranker's stage is skipped or scores only the best candidates so far. A
    fusion adds up the available scores, and a candidate without a score gets the lowest of them. So
    the order is that of the finished stages. The first stage always begins, and keep stages are
    always done.

    Args:
        pipeline: the stages.
        ranker: returns an opened ranker by name.
        documents: the collection.
        query: the query.
        given: the caller's own texts, all of which the retrieve stages then score.
        known: for each ranker, scores of these texts that retrieve stages need not compute, with
            NaN for texts that the ranker did not retrieve, (texts,) float32.
        deadline: the time to stop at.
        allowed: whether each document of the collection may be retrieved, (documents,) bool;
            passages where documents are split. None allows all.
        reach: how many documents of the first list are enough; None for all that a stage retrieves.
        amounts: says what metadata add to the scores of stored documents.

    Attributes:
        cut: whether a list ended because it was full, so that longer lists may have more documents.
        left_out: descriptions of the stages that were not done, or not for all candidates.
        lists: the documents that each ranker has retrieved, best first, by ranker.

    Raises:
        InputError: there are both the caller's own texts and a mask.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        ranker: Callable[[str], Ranker],
        documents: "Documents | None",
        query: QueryContext,
        given: Candidates | None = None,
        deadline: Deadline | None = None,
        allowed: Mask | None = None,
        known: Mapping[str, NDArray[np.float32]] | None = None,
        reach: int | None = None,
        amounts: Amounts | None = None,
    ) -> None:
        if given is not None and allowed is not None:
            raise InputError(
                "a mask says which documents of the collection may be retrieved, but the "
                "candidates are given; pass only those that are allowed"
            )
        self._pipeline, self._query, self._reach = pipeline, query, reach
        self._open, self._rankers = ranker, dict[str, Ranker]()
        self._documents, self._given, self._known = documents, given, known or {}
        self._allowed, self._amounts = both(allowed, query.allowed), amounts
        self.deadline = Deadline() if deadline is None else deadline
        self._fusions: dict[str, Fuse] = {}
        self._columns: dict[str, NDArray[np.float32]] = {}
        # By ranker, the documents whose score in its column was retrieved; `score` gave the others.
        self._retrieved: dict[str, NDArray[np.uint32]] = {}
        # Rankers, and the places of texts that their models truncated; each text counts once.
        self._truncated: set[tuple[str, int]] = set()
        # By rank fusion, the ranks of its inputs at that time, (inputs, candidates) float64, and
        # the documents that were retrieved, because a ranker may rescore them afterwards.
        self._ranks: dict[str, NDArray[np.float64]] = {}
        self._retrieved_before: dict[str, dict[str, NDArray[np.uint32]]] = {}
        # The score of candidates that there was no time to score, by ranker.
        self._floors: dict[str, float] = {}
        self._ordered_by = self._boost_of = pipeline.rankers[0]
        # What each signal would add with the weight 1, (signals, candidates).
        self._signals: NDArray[np.float64] = np.empty((0, 0))
        # Ranks before an unfinished stage, which order the candidates that it did not score,
        # (candidates,).
        self._places: NDArray[np.intp] | None = None
        self.candidates: Candidates = (
            self._stored(np.empty(0, np.uint32)) if given is None else given
        )
        self.timings: list[Timing] = []
        self.left_out: list[str] = list(query.left_out)
        self.cut = False
        self.lists: dict[str, NDArray[np.uint32]] = {}

    def run(self) -> None:
        """Run every stage that there is time for."""
        if not self.deadline.limited:  # with a budget, later rankers may not be needed
            encode_ahead(map(self._ranker, self._pipeline.rankers[1:]), self._query)
        for number, stage in enumerate(self._pipeline.stages):
            begin = perf_counter()
            if isinstance(stage, Keep):
                best = self._best_of_each(stage.k + 1)
                self.cut |= len(best) > stage.k
                self._select(best[: stage.k])
            elif isinstance(stage, Fuse):
                self._fuse(stage)
            elif isinstance(stage, Boost):
                self._boost(stage)
            elif number and self.deadline.passed:
                self.left_out.append(str(stage))
                continue
            elif not self._score(stage, begun=not number):
                continue
            self.timings.append(Timing(str(stage), (perf_counter() - begin) * 1e3))

    def _score(self, stage: Retrieve | Rescore, *, begun: bool) -> bool:
        """Run a stage of a ranker; return False if it takes no part, because it lacks a vector.

        Raises:
            NoVectorError: there is no other ranker.
        """
        try:
            if isinstance(stage, Retrieve) and self._given is None:
                self._retrieve(stage)
            elif isinstance(stage, Retrieve) and stage.ranker in self._known:
                self._columns[stage.ranker] = self._known[stage.ranker]
                self._ordered_by = stage.ranker
            else:
                self._rescore(stage, begun=begun)
        except NoVectorError as error:
            if len(self._pipeline.rankers) == 1:
                raise NoVectorError(f"{stage.ranker!r} cannot rank: {error}") from error
            self._query.remark(f"{stage.ranker}: {error}")
            return False
        return True

    def rankers(self) -> tuple[str, ...]:
        """Return the names of the pipeline's rankers, in order of use."""
        return self._pipeline.rankers

    @property
    def budget_spent(self) -> bool:
        """Whether time ran out, or was so short that something was left out."""
        return bool(self.left_out) or self.deadline.passed

    @property
    def documents(self) -> int:
        """The number of documents among the candidates; passages of one count once."""
        owners = self.candidates.owners
        return len(self.candidates) if owners is None else len({*owners.tolist()})

    def top(self, k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the positions of the k best candidates and their scores, best first.

        Of a document that is split, only the best passage counts.
        """
        best = self._best_of_each(k)
        return best, self.final()[best]

    def order(self) -> NDArray[np.intp]:
        """Return the positions of all candidates, best first, (candidates,)."""
        return self._best(len(self.candidates))

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Drop all candidates but those at some positions."""
        self._select(np.sort(positions))

    def restrict(self, numbers: NDArray[np.uint32]) -> None:
        """Make some documents the candidates; those without a score get the lowest of the others.

        Args:
            numbers: the documents, ascending, (documents,).
        """
        known = list_numbers(self.candidates)
        order = np.argsort(known)
        scored = among(numbers, known[order])
        at = order[np.searchsorted(known, numbers[scored], sorter=order)]

        def moved(values: NDArray[T], blank: float) -> NDArray[T]:
            found = np.full((*values.shape[:-1], len(numbers)), blank, values.dtype)
            found[..., scored] = values[..., at]
            return found

        self.candidates, self._places = self._stored(numbers), None
        self._columns = {name: moved(column, np.nan) for name, column in self._columns.items()}
        self._ranks = {name: moved(ranks, np.nan) for name, ranks in self._ranks.items()}
        self._signals = moved(self._signals, 0) if len(self._signals) else self._signals

    def best_passage_positions(self) -> NDArray[np.intp]:
        """Return the positions of all candidates, which ascend; of a split document only the best.

        The best passage is the first of those with the highest score.
        """
        owners, scores = self.candidates.owners, self.final()
        if owners is None or not len(owners):
            return np.arange(len(scores))
        begins = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
        highest = np.repeat(
            np.maximum.reduceat(scores, begins), np.diff(begins, append=len(owners))
        )
        best = np.flatnonzero(scores == highest)
        return np.asarray(best[np.append(True, np.diff(owners[best]) != 0)])

    def final(self) -> NDArray[np.float32]:
        """Return the final score of every candidate, in their order, (candidates,) float32."""
        return self._fill(self._ordered_by)

    def scaled(self) -> dict[str, NDArray[np.float32]]:
        """Return the scaled scores by ranker, the features that a linear fusion weights.

        What each signal of a boost adds with the weight 1 is under `name_feature` its field.
        """
        complete = {name: self._complete(name) for name in self._columns if name != BOOSTED}
        columns = {name: (self._scale(name), each) for name, each in complete.items()}
        if self._pipeline.boost is not None:
            for signal, each in zip(self._pipeline.boost.signals, self._signals, strict=True):
                columns[name_feature(signal.field)] = self._scale(self._boost_of), each
        return {
            name: (scale * column.astype(np.float64)).astype(np.float32)
            for name, (scale, column) in columns.items()
        }

    def providers(self) -> dict[str, str]:
        """Return where each ranker's model ran, for the rankers that have a model."""
        providers = {
            name: self._ranker(name).provider
            for name in self._columns
            if name not in self._fusions and name != BOOSTED
        }
        return {name: provider for name, provider in providers.items() if provider}

    def truncated(self) -> dict[str, int]:
        """Return by ranker how many texts its model truncated, if there are any."""
        if not self._truncated:
            return {}
        return dict(Counter(ranker for ranker, _ in self._truncated))

    def explain(self, position: int) -> "Explanation":
        """Explain the final score of the candidate at a position."""
        explanation = self._explain(self._ordered_by, position)
        if self.left_out:
            label = f"{explanation.label} (no time for: {'; '.join(self.left_out)})"
            explanation = replace(explanation, label=label)
        return explanation

    def _ranker(self, name: str) -> Ranker:
        """Return a ranker, which is the same in all stages."""
        if name not in self._rankers:
            self._rankers[name] = self._open(name)
        return self._rankers[name]

    def _stored(self, numbers: NDArray[np.uint32]) -> Candidates:
        if self._documents is None:
            raise BundleError(
                "this bundle has no collection; pass documents=[…], or add a collection with "
                "`ranklet index`"
            )
        return StoredCandidates(self._documents, numbers)

    def _retrieve(self, stage: Retrieve) -> None:
        name, ranker = stage.ranker, self._ranker(stage.ranker)
        if not isinstance(ranker, Retriever):
            raise InputError(
                f"the ranker {name!r} rescores candidates and cannot retrieve; begin the pipeline "
                "with a ranker that can, such as BM25"
            )
        k = stage.k if self._reach is None or not ranker.nested else min(stage.k, self._reach)
        with np.errstate(all="ignore"):  # the ranker reports damaged numbers
            numbers, scores, query_truncated = ranker.retrieve(self._query, k, self._allowed)
        self.cut |= len(numbers) >= k
        self._merge(name, numbers, scores)
        self._retrieved[name] = self.lists[name] = numbers
        self._ordered_by = name
        if query_truncated:
            self._truncated.add((name, QUERY))

    def _rescore(self, stage: Retrieve | Rescore, *, begun: bool) -> None:
        name, count = stage.ranker, len(self.candidates)
        column, order = self._score_missing(name, np.full(count, np.nan, np.float32), begun=begun)
        missing = int(np.isnan(column).sum())
        if missing:
            self.left_out.append(f"{stage}: {missing:,} of {count:,} candidates")
            if missing == count:  # opening the ranker took all the time
                return
            self._places = np.empty(count, np.intp)
            self._places[order] = np.arange(count)
        self._columns[name] = column
        self._retrieved.pop(name, None)
        self._fill(name)  # fixes the fill-in score now, so that no later fusion scores the rest
        self._ordered_by = name

    def _merge(self, ranker: str, numbers: NDArray[np.uint32], scores: NDArray[np.float32]) -> None:
        """Add a retrieved list; its new documents become candidates with NaN in other columns."""
        known = self.candidates.stored
        if known is None or not self._columns:  # the first list
            self.candidates = self._stored(numbers)
            self._columns[ranker] = scores
            return
        merged, at = add_new(known, numbers)
        columns = np.full((len(self._columns) + 1, len(merged)), np.nan, np.float32)
        for column, (name, given) in zip(columns, self._columns.items(), strict=False):
            column[: len(known)], self._columns[name] = given, column
        columns[-1, at] = scores
        self.candidates, self._columns[ranker] = self._stored(merged), columns[-1]

    def _scores(self, ranker: str, candidates: Candidates) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):  # damaged numbers are reported below
            scores = self._ranker(ranker).score(self._query, candidates)
        if scores.query_truncated:
            self._truncated.add((ranker, QUERY))
        if isinstance(candidates, TextCandidates):  # stored ones were reported by the indexing
            self._truncated |= {(ranker, candidates.places[at]) for at in scores.truncated}
        return _finite(scores.values, f"the ranker {ranker!r}")

    def _score_missing(
        self, name: str, column: NDArray[np.float32], *, begun: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return a column with its missing scores, best candidates first while there is time.

        Also return the positions of all candidates, best first if that order was needed. A slice
        is scored without time, too, if the stage has `begun`.
        """
        first = self._ranker(name).first_slice(texts=self.candidates.stored is None)
        ranked = self.deadline.limited and self._columns
        order = self._best(len(column)) if ranked else np.arange(len(column))
        missing = order[np.isnan(column[order])]
        column = column.copy()
        lengths = self.candidates.lengths
        if lengths is not None:
            lengths = [lengths[at] for at in missing.tolist()]
        for part in self.deadline.slices(len(missing), first, lengths, begun=begun):
            positions = missing[part]
            if len(positions) == len(column):  # all at once, which reuses texts already analysed
                column = self._scores(name, self.candidates)
            else:
                column[positions] = self._scores(name, self.candidates.select(positions))
        return column, order

    def _fuse(self, stage: Fuse) -> None:
        available = [i for i, name in enumerate(stage.inputs) if name in self._columns]
        if not available:
            self.left_out.append(str(stage))
            return
        if len(available) < len(stage.inputs):
            inputs = tuple(stage.inputs[i] for i in available)
            weights = tuple(stage.weights[i] for i in available if stage.weights)
            stage = replace(stage, inputs=inputs, weights=weights)
        self._columns[stage.name] = self._fused(stage)
        self._fusions[stage.name] = stage
        self._ordered_by = stage.name

    def _fused(self, stage: Fuse) -> NDArray[np.float32]:
        columns = [self._columns[name] for name in stage.inputs]
        if not len(self.candidates):
            return np.empty(0, np.float32)
        if stage.method != "linear":
            ranks = self._ranks[stage.name] = np.stack([fusion.ranks(column) for column in columns])
            self._retrieved_before[stage.name] = dict(self._retrieved)
            if stage.method == "rrf":
                return fusion.reciprocal_ranks(ranks, stage.weights)
            return fusion.alternate(ranks)
        columns = [self._complete(name) for name in stage.inputs]
        with np.errstate(all="ignore"):
            scales = [self._scale(name) for name in stage.inputs]
            fused = fusion.linear(columns, stage.weights, scales)
        return _finite(fused, f"the fusion {stage.name!r}")

    def _boost(self, stage: Boost) -> None:
        """Add what metadata say; a candidate that there was no time to score stays without."""
        if self._amounts is None:
            raise InputError(
                "scores are boosted by the metadata of a bundle's own documents; leave the boost "
                "out, or rank these"
            )
        base = self._columns[self._ordered_by]
        amounts = self._amounts(stage, list_numbers(self.candidates))
        self._boost_of, self._signals = self._ordered_by, self._unit() * amounts
        with np.errstate(over="ignore"):
            boosted = fusion.boosted(base, self._signals, [each.weight for each in stage.signals])
        if not np.isfinite(boosted[~np.isnan(base)]).all():
            raise InputError("boost: a number is too large to be added to a score; use log")
        self._columns[BOOSTED], self._ordered_by = boosted, BOOSTED

    def _unit(self) -> float:
        """Return the score of a perfect match, by which signals are comparable with the others."""
        name = self._ordered_by
        if name not in self._fusions:
            return 1 / self._scale(name)
        return fusion.most(self._fusions[name], self._fusions)

    def _complete(self, name: str) -> NDArray[np.float32]:
        """Score the candidates that a ranker did not return, because a sum needs all terms."""
        column = self._columns[name]
        if name not in self._floors and np.isnan(column).any():
            column = self._columns[name] = self._score_missing(name, column)[0]
            if missing := int(np.isnan(column).sum()):
                self.left_out.append(f"score {missing:,} more candidates by {name}")
        return self._fill(name)

    def _fill(self, name: str) -> NDArray[np.float32]:
        """Return a column whose missing scores are replaced by its lowest score."""
        column = self._columns[name]
        unscored = np.isnan(column)
        if not unscored.any():
            return column
        if name not in self._floors:
            self._floors[name] = 0.0 if unscored.all() else float(np.nanmin(column))
        return np.where(unscored, np.float32(self._floors[name]), column)

    def _scale(self, name: str) -> float:
        """Return what makes a column's scores comparable with those of others."""
        return 1.0 if name in self._fusions else self._ranker(name).scale(self._query)

    def _best(self, k: int) -> NDArray[np.intp]:
        column = self._columns[self._ordered_by]
        unscored = np.isnan(column)
        partial = self._places is not None and unscored.any()
        ties = self._places if partial else self.candidates.stored
        return top_k(np.where(unscored, -np.inf, column), k, ties=ties)

    def _best_of_each(self, k: int) -> NDArray[np.intp]:
        owners = self.candidates.owners
        if owners is None:
            return self._best(k)
        best, seen = self._best(len(self.candidates)), set[int]()
        firsts = list[int]()
        for place, owner in enumerate(owners[best].tolist()):
            if len(seen) == k:
                break
            if owner not in seen:
                seen.add(owner)
                firsts.append(place)
        return best[firsts]

    def _select(self, positions: NDArray[np.intp]) -> None:
        self.final()  # fixes the lowest score while all candidates are still there
        self.candidates = self.candidates.select(positions)
        self._columns = {name: column[positions] for name, column in self._columns.items()}
        self._ranks = {name: ranks[:, positions] for name, ranks in self._ranks.items()}
        self._signals = self._signals[:, positions] if len(self._signals) else self._signals
        if self._places is not None:
            self._places = self._places[positions]

    def _explain(self, name: str, position: int) -> "Explanation":
        from ranklet.runtime.answers.explanation import Explanation  # few calls explain

        if np.isnan(self._columns[name][position]):
            label = f"{name}: it was not scored, so it gets the lowest score"
            return Explanation(label, self._floors[name])
        if name == BOOSTED:
            return self._explain_boost(position)
        return self._explain_score(name, position, self._retrieved)

    def _explain_boost(self, position: int) -> "Explanation":
        from ranklet.runtime.answers.explanation import Explanation

        stage = self._pipeline.boost
        signals = () if stage is None else stage.signals
        added = zip(signals, self._signals[:, position].tolist(), strict=True)
        parts = [
            Explanation(str(signal), signal.weight * amount)
            for signal, amount in added
            if signal.weight * amount
        ]
        return Explanation.total("boosted", [self._explain(self._boost_of, position), *parts])

    def _explain_score(
        self, name: str, position: int, retrieved: Mapping[str, NDArray[np.uint32]]
    ) -> "Explanation":
        """Explain a score of a ranker or a fusion; `retrieved` is as in `_retrieved`."""
        if name in self._fusions:
            return self._explain_fusion(self._fusions[name], position)
        candidate, ranker = self.candidates.select(np.array([position])), self._ranker(name)
        was_retrieved = np.isin(list_numbers(candidate), retrieved.get(name, ())).any()
        if was_retrieved and isinstance(ranker, Retriever):
            explanation = ranker.explain_retrieved(self._query, candidate)
        else:
            explanation = ranker.explain(self._query, candidate)
        analysis = ranker.analyzer.begin() if ranker.analyzer else self._query.analysis
        from ranklet.runtime.execution.joined_pieces import join_pieces

        return join_pieces(explanation, self._query.text, candidate, analysis)

    def _explain_fusion(self, stage: Fuse, position: int) -> "Explanation":
        from ranklet.runtime.execution import explained_fusion

        if stage.method == "linear":
            scales = [self._scale(each) for each in stage.inputs]
            return explained_fusion.explain_linear(
                stage, scales, lambda each: self._explain(each, position)
            )
        retrieved, ranks = self._retrieved_before[stage.name], self._ranks[stage.name]
        of_candidate = ranks[:, position].tolist()

        def reasons(each: str) -> "Explanation":
            return self._explain_score(each, position, retrieved)

        if stage.method == "rrf":
            return explained_fusion.explain_reciprocal_ranks(stage, of_candidate, reasons)
        value = float(self._columns[stage.name][position])
        return explained_fusion.explain_alternate(stage, value, of_candidate, reasons)


def _finite(scores: NDArray[np.float32], source: str) -> NDArray[np.float32]:
    """Return the scores, or raise BundleError if one is not finite."""
    if not np.isfinite(scores).all():
        raise damaged(f"{source} returned a score that is not finite")
    return scores
