from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.call.candidates import Candidates, TextCandidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import Ranker, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Amounts, Execution
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.pipelines.pipeline import Pipeline


class Fake(Retriever):
    """A ranker that knows a score of every document by heart, and which it retrieves."""

    def __init__(self, scores: dict[int, float], *, hidden: tuple[int, ...] = ()) -> None:
        self.scores, self.hidden = scores, hidden
        self.scored: list[list[int]] = []

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        matching = set(self.scores) - set(self.hidden)
        if allowed is not None:
            matching &= set(np.flatnonzero(allowed).tolist())
        found = sorted(matching, key=lambda at: (-self.scores[at], at))
        scores = [self.scores[at] for at in found[:k]]
        return Retrieved(np.array(found[:k], np.uint32), np.array(scores, np.float32))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        numbers = range(len(candidates)) if candidates.stored is None else candidates.stored
        self.scored.append([int(at) for at in numbers])
        return Scores(np.array([self.scores.get(int(at), 0) for at in numbers], np.float32))

    def scale(self, query: QueryContext) -> float:
        return 0.5

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        return Explanation("fake", float(self.score(query, candidate).values[0]))

    def verify(self) -> None: ...


A = {0: 4.0, 1: 3.0, 2: 2.0}
B = {2: 9.0, 3: 8.0, 1: 7.0, 4: 6.0}
C = {0: 1.0, 1: 5.0, 2: 3.0, 3: 2.0, 4: 4.0}

RETRIEVE_A, RETRIEVE_B = ({"stage": "retrieve", "ranker": name} for name in "ab")
RESCORE = {"stage": "rescore", "ranker": "c"}


def fuse(
    method: str, inputs: Sequence[str] = "ab", name: str = "fused", *weights: float
) -> dict[str, Any]:
    return {
        "stage": "fuse",
        "method": method,
        "inputs": list(inputs),
        "weights": [] if method == "alternate" else list(weights or [1.0] * len(inputs)),
        "name": name,
    }


@pytest.fixture
def run(analysed: AnalysedCollection) -> Any:
    def run_with(
        stages: list[dict[str, Any]],
        given: list[str] | None = None,
        allowed: Mask | None = None,
        amounts: Amounts | None = None,
        **rankers: Fake,
    ) -> Execution:
        found: dict[str, Ranker] = {"a": Fake(A), "b": Fake(B), "c": Fake(C), **rankers}
        analysis = analysed.analyzer.begin()
        own = None if given is None else TextCandidates(given, analysis)
        query, documents = QueryContext("a query", analysis), analysed.documents
        execution = Execution(
            Pipeline.from_json(stages), found.__getitem__, documents, query, own,
            allowed=allowed, amounts=amounts,
        )  # fmt: skip
        execution.run()
        return execution

    return run_with


class Indexed(Fake):
    """A ranker whose index scores otherwise than its network does."""

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        numbers, scores, _ = super().retrieve(query, k, allowed)
        return Retrieved(numbers, scores * 10)

    def explain_retrieved(self, query: QueryContext, candidate: Candidates) -> Explanation:
        return Explanation("index", 10 * self.explain(query, candidate).value)


def ranked(execution: Execution, k: int = 10) -> dict[int, float]:
    positions, scores = execution.top(k)
    stored = execution.candidates.stored
    numbers = positions if stored is None else stored[positions]
    return dict(zip(numbers.tolist(), [round(s, 4) for s in scores.tolist()], strict=True))


def shown(found: dict[int, float]) -> list[tuple[int, float]]:
    return list(found.items())


def test_retrieved_documents_come_best_first(run: Any) -> None:
    assert shown(ranked(run([RETRIEVE_A]))) == [(0, 4), (1, 3), (2, 2)]
    assert shown(ranked(run([RETRIEVE_A | {"k": 2}]))) == [(0, 4), (1, 3)]
    assert shown(ranked(run([RETRIEVE_A]), k=1)) == [(0, 4)]


def test_rescoring_changes_the_order_and_keeping_cuts_it(run: Any) -> None:
    assert shown(ranked(run([RETRIEVE_A, RESCORE]))) == [(1, 5), (2, 3), (0, 1)]
    keep = {"stage": "keep", "k": 2}
    assert shown(ranked(run([RETRIEVE_A, keep, RESCORE]))) == [(1, 5), (0, 1)]
    assert shown(ranked(run([RETRIEVE_A, RESCORE, keep]))) == [(1, 5), (2, 3)]


def test_a_retrieved_score_is_explained_by_the_index_and_others_by_the_network(run: Any) -> None:
    execution = run([RETRIEVE_A, RETRIEVE_B, fuse("linear")], a=Indexed({**A, 3: 1.0}, hidden=(3,)))
    scores = execution.final().tolist()
    assert [execution.explain(at).value for at in range(len(scores))] == scores
    assert run([RETRIEVE_A], a=Indexed(A)).explain(0).label == "index"
    again = run([RETRIEVE_A, {"stage": "rescore", "ranker": "a"}], a=Indexed(A))
    assert again.explain(0).label == "fake"


BOOST = {"stage": "boost", "signals": {"x": {"linear": True, "weight": 0.5}}}


@pytest.mark.parametrize(
    ("stages", "unit"),
    [
        ([RETRIEVE_A], 2.0),  # 1 / its scale
        ([RETRIEVE_A, RESCORE], 2.0),
        ([RETRIEVE_A, RETRIEVE_B, fuse("linear", "ab", "x", 0.5, 1.0)], 1.5),
        ([RETRIEVE_A, RETRIEVE_B, fuse("rrf", "ab", "x", 3.0, 1.0)], 4 / 61),
        ([RETRIEVE_A, RETRIEVE_B, fuse("alternate")], 1.0),
        (
            [RETRIEVE_A, RETRIEVE_B, fuse("rrf"), RESCORE, fuse("linear", ["fused", "c"], "y")],
            2 / 61 + 1,
        ),
    ],
)
def test_a_boost_adds_shares_of_a_perfect_match(
    run: Any, stages: list[dict[str, Any]], unit: float
) -> None:
    def amounts(_: object, numbers: NDArray[np.uint32]) -> NDArray[np.float64]:
        return numbers[None, :].astype(np.float64)

    plain, boosted = run(stages), run([*stages, BOOST], amounts=amounts)
    more = {at: score + 0.5 * unit * at for at, score in ranked(plain).items()}
    assert ranked(boosted) == pytest.approx(more, abs=1e-4)
    assert [*ranked(boosted).values()] == sorted(ranked(boosted).values(), reverse=True)
    for at, score in enumerate(boosted.final().tolist()):
        assert boosted.explain(at).value == pytest.approx(score)
    assert boosted.scaled().keys() == {*plain.scaled(), "boost by x"}
    kept = run([*stages, BOOST, {"stage": "keep", "k": 1}], amounts=amounts)
    (best, *_), (value,) = ranked(boosted).values(), ranked(kept).values()
    assert kept.explain(0).value == pytest.approx(best, abs=1e-4)
    assert value == pytest.approx(best)
    with pytest.raises(InputError, match="leave the boost out"):
        run([*stages, BOOST])


def test_truncated_texts_count_once(run: Any) -> None:
    class Short(Fake):
        def score(self, query: QueryContext, candidates: Candidates) -> Scores:
            return super().score(query, candidates)._replace(truncated=[1], query_truncated=True)

    twice = [RETRIEVE_A, RESCORE, RESCORE]
    assert run(twice, c=Short(C)).truncated() == {"c": 1}  # the query, and no stored document
    assert run(twice, ["x", "y"], c=Short(C)).truncated() == {"c": 2}


def test_a_ranker_without_an_index_only_rescores(run: Any) -> None:
    class Rescorer(Ranker):
        score, scale, explain, verify = Fake.score, Fake.scale, Fake.explain, Fake.verify
        scores, scored = C, list[list[int]]()

    with pytest.raises(InputError, match="'a' rescores candidates and cannot retrieve"):
        run([RETRIEVE_A], a=Rescorer())
    assert len(ranked(run([RETRIEVE_A], ["x", "y"], a=Rescorer()))) == 2  # own texts are scored


def test_a_linear_fusion_scores_what_one_list_lacks(run: Any) -> None:
    a, b = Fake({**A, 3: 1.0}, hidden=(3,)), Fake(B)
    found = ranked(run([RETRIEVE_A, RETRIEVE_B, fuse("linear")], a=a, b=b))
    wanted = {n: 0.5 * (a.scores.get(n, 0) + b.scores.get(n, 0)) for n in range(5)}
    assert shown(found) == sorted(wanted.items(), key=lambda each: (-each[1], each[0]))
    assert (a.scored, b.scored) == ([[3, 4]], [[0]])  # and nothing that was known already


def test_ranks_count_only_lists_that_a_document_is_in(run: Any) -> None:
    found = ranked(run([RETRIEVE_A, RETRIEVE_B, fuse("rrf")]))
    wanted = {0: 1 / 61, 1: 1 / 62 + 1 / 63, 2: 1 / 63 + 1 / 61, 3: 1 / 62, 4: 1 / 64}
    assert found == {at: round(score, 4) for at, score in wanted.items()}


@pytest.mark.parametrize("method", ["linear", "rrf", "alternate"])
@pytest.mark.parametrize(("first", "second"), [({}, B), (A, {}), ({}, {})])
def test_a_list_may_be_empty(
    run: Any, method: str, first: dict[int, float], second: dict[int, float]
) -> None:
    stages = [RETRIEVE_A, RETRIEVE_B, fuse(method), {"stage": "keep", "k": 9}]
    found = ranked(run(stages, a=Fake(first), b=Fake(second)))
    assert set(found) == set(first) | set(second)
    assert np.isfinite(list(found.values())).all()


def test_no_score_is_ever_missing_from_the_answer(run: Any) -> None:
    for method in ("linear", "rrf", "alternate"):
        for inputs in ("a", "b", "ab"):
            found = ranked(run([RETRIEVE_A, RETRIEVE_B, fuse(method, inputs)]))
            assert len(found) == 5
            assert np.isfinite(list(found.values())).all()


def test_ties_go_to_the_lower_document_number(run: Any) -> None:
    tied = Fake({4: 1.0, 0: 1.0, 2: 1.0})
    assert list(ranked(run([RETRIEVE_A, RESCORE], c=tied))) == [0, 2, 1]
    assert list(ranked(run([RETRIEVE_A], a=tied))) == [0, 2, 4]


def test_given_texts_are_scored_by_every_stage_and_retrieved_by_none(run: Any) -> None:
    found = ranked(run([RETRIEVE_A, RETRIEVE_B, fuse("linear")], given=["x", "y", "z"]))
    assert found == {0: 2.0, 1: 5.0, 2: 5.5}
    assert list(found) == [2, 1, 0]
    assert ranked(run([RETRIEVE_A, RESCORE], given=[])) == {}


def test_every_retrieve_stage_gets_the_mask_and_fills_its_list(run: Any) -> None:
    allowed = np.isin(np.arange(48), [1, 2, 4])
    short = [RETRIEVE_A | {"k": 2}, RETRIEVE_B | {"k": 2}, fuse("rrf")]
    assert set(ranked(run(short))) == {0, 1, 2, 3}
    assert set(ranked(run(short, allowed=allowed))) == {1, 2}
    fused = ranked(run([RETRIEVE_A, RETRIEVE_B, RESCORE, fuse("linear", "abc")], allowed=allowed))
    wanted = {n: 0.5 * (A.get(n, 0) + B.get(n, 0) + C[n]) for n in (1, 2, 4)}
    assert fused == wanted
    assert run([RETRIEVE_A | {"k": 2}], allowed=allowed).cut  # more may match
    assert not run([RETRIEVE_A], allowed=allowed).cut
    assert ranked(run([RETRIEVE_A, RETRIEVE_B, fuse("rrf")], allowed=np.zeros(48, bool))) == {}


def test_a_mask_and_given_candidates_are_refused_together(run: Any) -> None:
    with pytest.raises(InputError, match="pass only those that are allowed"):
        run([RETRIEVE_A], ["x"], allowed=np.ones(48, bool))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_not_finite_is_damage(run: Any, wrong: float) -> None:
    with pytest.raises(BundleError, match="the ranker 'c' returned a score that is not finite"):
        run([RETRIEVE_A, RESCORE], c=Fake({0: wrong}))


def test_a_sum_that_is_not_finite_is_damage(run: Any) -> None:
    huge = Fake({0: 3e38, 1: 3e38})
    with pytest.raises(BundleError, match="the fusion 'fused' returned a score that is not finite"):
        run([RETRIEVE_A, RESCORE, fuse("linear", "ac", "fused", 1e6, 1e6)], a=huge, c=huge)


def test_features_are_scaled_scores(run: Any) -> None:
    execution = run([RETRIEVE_A, RESCORE])
    scaled = execution.scaled()
    assert scaled["a"].tolist() == [2.0, 1.5, 1.0]
    assert scaled["c"].tolist() == [0.5, 2.5, 1.5]
