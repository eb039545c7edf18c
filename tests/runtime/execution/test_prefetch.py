"""A query is encoded while the first stage runs: once, in a thread, and errors are not lost."""

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import Ranker, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution import prefetch as ahead
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.pipelines.pipeline import Pipeline

RECIPE = Pipeline.from_json(
    [{"stage": "retrieve", "ranker": "first"}, {"stage": "rescore", "ranker": "second"}]
)


class First(Retriever):
    """Retrieves when the other ranker's encoding has begun, or after a while."""

    def __init__(self, begun: threading.Event) -> None:
        self.begun, self.in_time = begun, False

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        self.in_time = self.begun.wait(60 if ahead._processors() > 1 else 0)
        return Retrieved(np.array([0, 1], np.uint32), np.array([2.0, 1.0], np.float32))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        return Scores(np.zeros(len(candidates), np.float32))

    def scale(self, query: QueryContext) -> float:
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        return Explanation("fake", 0.0)

    def verify(self) -> None: ...


class Second(First):
    """Encodes the query, and fails a given number of times."""

    encodes_queries = True

    def __init__(self, begun: threading.Event, failures: int = 0) -> None:
        super().__init__(begun)
        self.failures, self.threads = failures, list[str]()

    def encode_query(self, query: QueryContext) -> float:
        def encode() -> float:
            self.threads.append(threading.current_thread().name)
            self.begun.set()
            if len(self.threads) <= self.failures:
                raise BundleError("the encoder is damaged")
            return 7.0

        return query.once(id(self), encode)

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        return Scores(np.full(len(candidates), self.encode_query(query), np.float32))


def run(
    analysed: AnalysedCollection, second: Second, first: First, **options: Any
) -> NDArray[np.float32]:
    rankers: dict[str, Ranker] = {"first": first, "second": second}
    query = QueryContext("a query", analysed.analyzer.begin())
    execution = Execution(RECIPE, rankers.__getitem__, analysed.documents, query, **options)
    execution.run()
    return execution.final()


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> tuple[Second, First]:
    monkeypatch.setattr(ahead, "_processors", lambda: 2)
    begun = threading.Event()
    return Second(begun), First(begun)


def test_the_query_is_encoded_while_the_first_stage_runs(
    analysed: AnalysedCollection, pair: tuple[Second, First]
) -> None:
    assert run(analysed, *pair).tolist() == [7, 7]
    assert pair[1].in_time
    assert pair[0].threads == ["ahead"]  # once, and not here


def test_an_error_is_raised_where_the_result_is_needed(
    analysed: AnalysedCollection, pair: tuple[Second, First]
) -> None:
    pair[0].failures = 2
    with pytest.raises(BundleError, match="the encoder is damaged"):
        run(analysed, *pair)
    assert pair[0].threads == ["ahead", "MainThread"]


def test_a_result_is_computed_once_whichever_thread_needs_it_first(
    analysed: AnalysedCollection,
) -> None:
    query, made = QueryContext("a query", analysed.analyzer.begin()), list[int]()
    gate = threading.Barrier(8)

    def ask() -> None:
        gate.wait()
        assert query.once(1, lambda: made.append(1) or len(made)) == 1  # type: ignore[func-returns-value]

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [1]
