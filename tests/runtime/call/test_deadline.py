"""Budgets: what ends in time gives the same scores as ever; the rest is left out and reported."""

from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime import Bundle, InputError
from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.call.candidates import Candidates, TextCandidates
from ranklet.runtime.call.deadline import Deadline, caller_gone
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import Ranker, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.pipelines.pipeline import Pipeline


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.ms = 0.0

    def __call__(self) -> float:
        return self.ms / 1e3


class Slow(Retriever):
    """A ranker that takes its time for every candidate, and for retrieving."""

    def __init__(
        self,
        clock: Clock,
        scores: dict[int, float],
        *,
        each_ms: float = 0.0,
        retrieve_ms: float = 0,
    ) -> None:
        self.clock, self.scores = clock, scores
        self.each_ms, self.retrieve_ms = each_ms, retrieve_ms
        self.scored: list[list[int]] = []

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        self.clock.ms += self.retrieve_ms
        found = sorted(self.scores, key=lambda at: (-self.scores[at], at))[:k]
        scores = np.array([self.scores[at] for at in found], np.float32)
        return Retrieved(np.array(found, np.uint32), scores)

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        stored = candidates.stored
        numbers = [int(text) for text in candidates.texts] if stored is None else stored.tolist()
        self.clock.ms += self.each_ms * len(candidates)
        self.scored.append(numbers)
        return Scores(np.array([self.scores.get(at, 0) for at in numbers], np.float32))

    def scale(self, query: QueryContext) -> float:
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        return Explanation("slow", float(self.score(query, candidate).values[0]))

    def verify(self) -> None: ...


class Sliced(Slow):
    slice_size = 2


A_DAY = 86_400_000  # in milliseconds: no machine is so busy that it is spent
FIRST = {at: 40.0 - at for at in range(40)}  # retrieved in the order of their numbers
TURNED = {at: float(at + 1) for at in range(40)}  # the second ranker likes the opposite order
RETRIEVE = {"stage": "retrieve", "ranker": "first"}
RESCORE = {"stage": "rescore", "ranker": "second"}
KEEP = {"stage": "keep", "k": 5}


def fuse(method: str = "linear", *inputs: str) -> dict[str, Any]:
    named = list(inputs or ("first", "second"))
    weights = [] if method == "alternate" else [1.0] * len(named)
    return {
        "stage": "fuse",
        "method": method,
        "inputs": named,
        "weights": weights,
        "name": f"{method} of {'+'.join(named)}",
    }


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(analysed: AnalysedCollection, clock: Clock) -> Any:
    def run_with(
        stages: list[dict[str, Any]],
        budget_ms: float | None,
        *,
        given: int | None = None,
        deadline_clock: Clock = clock,
        **rankers: Ranker,
    ) -> Execution:
        analysis = analysed.analyzer.begin()
        texts = [str(number) for number in range(given or 0)]
        own = None if given is None else TextCandidates(texts, analysis)
        known: dict[str, Ranker] = {"first": Slow(clock, FIRST), **rankers}
        execution = Execution(
            Pipeline.from_json(stages),
            known.__getitem__,
            analysed.documents,
            QueryContext("a query", analysis),
            own,
            Deadline(budget_ms, deadline_clock),
        )
        execution.run()
        return execution

    return run_with


def order(execution: Execution, k: int = 40) -> list[int]:
    positions, scores = execution.top(k)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) <= 0).all()
    for position, score in zip(positions.tolist(), scores.tolist(), strict=True):
        assert execution.explain(position).value == pytest.approx(score, abs=1e-6)
    stored = execution.candidates.stored
    return [int(at) for at in (positions if stored is None else stored[positions])]


def test_without_a_budget_there_is_one_slice(clock: Clock) -> None:
    unlimited = Deadline(None, clock)
    assert list(unlimited.slices(100)) == [slice(0, 100)]
    assert (unlimited.limited, unlimited.passed, unlimited.left_ms()) == (False, False, None)


def test_slices_double_while_time_is_plenty_and_shrink_to_what_fits(clock: Clock) -> None:
    sizes = []
    for part in Deadline(100, clock).slices(1000, 4):
        sizes.append(part.stop - part.start)
        clock.ms += sizes[-1]  # a millisecond each
    assert sizes == [4, 8, 16, 32, 40]
    assert clock.ms == 100
    assert Deadline(0, clock).passed
    assert list(Deadline(0, clock).slices(9)) == []


def test_a_slice_takes_a_tenth_of_a_second(clock: Clock) -> None:
    for part in Deadline(1e6, clock).slices(200, 2):
        assert part.stop - part.start <= 2
        clock.ms += 50 * (part.stop - part.start)


def test_whoever_has_gone_is_worked_for_no_longer(clock: Clock) -> None:
    context = copy_context()
    context.run(caller_gone.set, lambda: clock.ms > 0)
    deadline = context.run(Deadline, None, clock)
    for part in deadline.slices(100, 3):
        assert part == slice(0, 3)
        clock.ms += 1
    assert [*deadline.slices(100, 3)] == []
    assert [*deadline.slices(100, 3, begun=True)] == [slice(0, 3)]


def test_a_stage_that_cannot_begin_in_time_is_left_out(run: Any, clock: Clock) -> None:
    second = Slow(clock, TURNED)
    late = Slow(clock, FIRST, retrieve_ms=20)
    found = run([RETRIEVE, RESCORE, KEEP], 10, first=late, second=second)
    assert order(found) == [0, 1, 2, 3, 4]  # cutting costs nothing, so it is done
    assert (found.left_out, found.budget_spent) == (["rescore by second"], True)
    assert [each.stage for each in found.timings] == ["retrieve 1000 by first", "keep 5"]
    assert second.scored == []
    assert "no time for: rescore by second" in found.explain(0).label


def test_the_first_stage_always_begins(run: Any, clock: Clock) -> None:
    assert order(run([RETRIEVE], 0), 3) == [0, 1, 2]
    slow = Slow(clock, TURNED, each_ms=50)
    found = run([RETRIEVE, RESCORE], 0, given=4, first=slow)
    assert order(found) == [1, 0, 2, 3]
    left_out = ["retrieve 1000 by first: 2 of 4 candidates", "rescore by second"]
    assert (found.left_out, found.budget_spent) == (left_out, True)


def test_as_many_of_the_best_are_rescored_as_fit(run: Any, clock: Clock) -> None:
    second = Sliced(clock, TURNED, each_ms=10)
    found = run([RETRIEVE, RESCORE], 105, second=second)
    assert second.scored == [[0, 1], [2, 3, 4, 5], [6, 7, 8, 9]]
    assert clock.ms == 100  # another would have ended late
    assert found.left_out == ["rescore by second: 30 of 40 candidates"]
    assert order(found) == [*range(9, -1, -1), *range(10, 40)]
    unscored = found.explain(20)
    assert (unscored.value, unscored.label.split(" (")[0]) == (
        1.0,
        "second: it was not scored, so it gets the lowest score",
    )


def test_a_fusion_adds_up_what_there_is(run: Any, clock: Clock) -> None:
    late = Slow(clock, FIRST, retrieve_ms=20)
    for method in ("linear", "rrf", "alternate"):
        stages = [RETRIEVE, RESCORE, fuse(method)]
        found = run(stages, 10, first=late, second=Slow(clock, TURNED))
        assert order(found) == list(range(40))
        assert found.left_out == ["rescore by second"]


def test_a_real_bundle_says_what_there_was_no_time_for(bundle: Bundle) -> None:
    query = "how long to knead dough"
    wanted = bundle.rank(query, pipeline="linear")
    plenty = bundle.rank(query, pipeline="linear", budget_ms=A_DAY)
    assert [(hit.id, hit.score) for hit in plenty] == [(hit.id, hit.score) for hit in wanted]
    assert (plenty.budget_spent, plenty.left_out) == (False, ())
    assert (wanted.budget_spent, wanted.left_out) == (False, ())
    none = bundle.rank(query, pipeline="linear", budget_ms=0, explain=True)
    assert none.budget_spent
    assert none.left_out == ("rescore by model1", "rescore by model1_pieces")
    assert [hit.id for hit in none] == [hit.id for hit in bundle.rank(query, pipeline="bm25")]
    explanation = none[0].explanation
    assert explanation is not None
    assert "no time for: rescore by model1; rescore by model1_pieces" in str(explanation)
    assert sum(part.value for part in explanation.parts) == pytest.approx(none[0].score, abs=1e-6)


@pytest.mark.parametrize(
    "wrong", [-1, float("nan"), float("inf"), True, "9", [], 10**400, 86_400_001]
)
def test_a_budget_is_a_number_of_milliseconds(bundle: Bundle, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"budget_ms is .*; it must be a number from 0 to"):
        bundle.rank("dough", budget_ms=wrong)
    with pytest.raises(InputError, match="budget_ms is"):
        bundle.rank_batch([], budget_ms=wrong)


@pytest.mark.parametrize("seed", range(150))
def test_every_budget_gives_a_valid_answer(run: Any, seed: int) -> None:
    """Random recipes, speeds and budgets: scores are finite, in order, and add up."""
    rng = np.random.default_rng(seed)
    clock = Clock()

    def ranker() -> Ranker:
        known = rng.choice(40, rng.integers(1, 41), replace=False).tolist()
        scores = {at: float(rng.integers(-5, 6)) for at in known}
        kind = Sliced if rng.random() < 0.5 else Slow
        return kind(clock, scores, each_ms=rng.random() * 2, retrieve_ms=rng.random() * 20)

    rankers = {name: ranker() for name in ("first", "second", "third", "fourth")}
    lists = ["first", "second"][: rng.integers(1, 3)]
    stages: list[dict[str, Any]] = [RETRIEVE | {"ranker": name} for name in lists]
    rescored = ["third", "fourth"][: rng.integers(0, 3)]
    stages += [{"stage": "rescore", "ranker": name} for name in rescored]
    method = str(rng.choice(["linear", "rrf", "alternate"]))
    stages.append(fuse(method, *lists, *rescored))
    if rng.random() < 0.5:
        stages.append(KEEP)
    if rng.random() < 0.5:
        fused = stages[len(lists) + len(rescored)]["name"]
        stages += [{"stage": "rescore", "ranker": "fourth"}] * ("fourth" not in rescored)
        stages.append(fuse("linear", fused, *(["fourth"] if len(rescored) < 2 else [])))
        stages[-1]["name"] = "last"
    given = int(rng.integers(0, 40)) if rng.random() < 0.3 else None
    budget = float(rng.random() * 80)
    execution = run(stages, budget, given=given, deadline_clock=clock, **rankers)
    assert len(order(execution)) == len(execution.candidates)
    assert execution.budget_spent or not execution.left_out
