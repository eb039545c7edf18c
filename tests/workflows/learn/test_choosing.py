"""Rankers are added while that surely gains, at most one network, and while there is time."""

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.bundle import Bundle
from ranklet.workflows.learn.choosing import cheapest, path
from ranklet.workflows.learn.weighing import Material, Pool

IDS = ["a", "b", "c", "d"]
MEASURE = "MRR@10"


def material(count: int = 160) -> Material:
    """Return queries, and scores that are good in part, better together, and noise."""
    rng = np.random.default_rng(0)
    relevant = rng.integers(4, size=count)
    queries = [JudgedQuery(str(at), "", {IDS[own]: 1}) for at, own in enumerate(relevant.tolist())]
    truth = np.eye(4)[relevant]
    scores: NDArray[np.float32] = rng.normal(size=(3, count, 4)).astype(np.float32)
    scores[0] += truth
    scores[1] += 2 * truth
    names = ("bm25", "model1", "model1_pieces")
    pools = [Pool(IDS, dict(zip(names, scores[:, at], strict=True))) for at in range(count)]
    return Material(queries, pools)


def test_what_gains_is_added_and_noise_is_not(bundle: Bundle) -> None:
    others = ["model1", "model1_pieces"]
    steps, untried = path(bundle, material(), ["bm25"], others, [], MEASURE)
    assert untried == []
    assert [each.members for each in steps] == [("bm25",), ("bm25", "model1")]
    assert min(steps[-1].weights) > 0
    assert steps[-1].values.mean() > steps[0].values.mean()
    assert cheapest([each.values for each in steps]) == 1


def test_at_most_one_network_reads_a_query(bundle: Bundle) -> None:
    queries, pools = material().queries, material().pools
    names = ["model1", "model1_pieces"]
    noise = np.random.default_rng(1).normal(size=(len(pools), 4)).astype(np.float32)
    good = [
        pool._replace(scores={**pool.scores, "model1_pieces": pool.scores["model1"] + own})
        for pool, own in zip(pools, noise, strict=True)
    ]
    (_, last), _ = path(bundle, Material(queries, good), ["bm25"], names, names, MEASURE)
    assert len(set(last.members) & set(names)) == 1


def test_rankers_are_tried_while_there_is_time(bundle: Bundle) -> None:
    asked = list[float]()

    def once(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 1

    others = ["model1_pieces", "model1"]
    steps, untried = path(bundle, material(), ["bm25"], others, [], MEASURE, fits=once)
    assert [each.members for each in steps] == [("bm25",)]  # noise gains nothing
    assert untried == ["model1"]
    assert 0 < asked[0] <= asked[1]
