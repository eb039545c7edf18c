"""The choice of members and weights on held-out queries."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.training.data.splits import JudgedQuery

choosing = pytest.importorskip("benchmarks.all_systems.choosing")
rankers = pytest.importorskip("benchmarks.all_systems.rankers")
pipelines = pytest.importorskip("benchmarks.all_systems.pipelines")

IDS = ["a", "b", "c", "d"]


def material(count: int = 40) -> tuple[list[JudgedQuery], NDArray[np.float32]]:
    """Return queries and scores (queries, documents, 3): good, good in part, and noise."""
    rng = np.random.default_rng(0)
    relevant = rng.integers(4, size=count)
    queries = [JudgedQuery(str(at), "", {IDS[own]: 1}) for at, own in enumerate(relevant.tolist())]
    truth = np.eye(4)[relevant]
    noise = rng.normal(size=(count, 4, 3))
    scores = np.stack([truth * 2, truth, 0 * truth], 2) + noise
    return queries, scores.astype(np.float32)


def features(scores: NDArray[np.float32], members: list[int]) -> list[object]:
    """Return what a linear fusion of members adds up."""
    return [(IDS, own[:, members]) for own in scores]


def test_the_best_candidate_is_chosen_and_noise_is_not() -> None:
    queries, scores = material()
    tried = [features(scores, members) for members in ([2], [1], [0, 1], [1, 2])]
    choice = choosing.choose(queries, tried)
    assert choice.at == 2
    assert min(choice.weights) > 0
    assert choice.value > choosing.cross_validated(queries, tried[1])


def test_only_documents_of_a_candidates_own_lists_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "DEPTH", 2)
    pool = choosing.Pool(
        IDS,
        {
            "bm25": np.array([3, 2, 1, 0], np.float32),
            "dense": np.array([-1, 0.1, 0.2, 0.3], np.float32),
            "model1": np.array([5, 6, 7, 8], np.float32),
        },
    )

    def found(*members: str, method: str = "linear") -> tuple[list[str], NDArray[np.float32]]:
        candidate = pipelines.Candidate(members, method)
        ((ids, own),) = choosing.features([pool], candidate, rankers.RANKERS)
        return ids, own

    ids, own = found("bm25", "model1")
    assert (ids, own.tolist()) == (["a", "b"], [[3, 5], [2, 6]])
    ids, own = found("bm25", "dense", method="rrf")
    assert ids == IDS
    np.testing.assert_allclose(own[:, 0], [1 / 61, 1 / 62, 1 / 62, 1 / 61], rtol=1e-6)
