"""Rankers are added while that surely gains, and a ranker of pairs may read the best last."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.export.learning import choosing
from ranklet.export.learning.choosing import (
    LAST,
    More,
    Pool,
    cheapest,
    path,
    pools_of,
    rerank_last,
    weigh,
)
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipeline import Fuse, Keep, Rescore

IDS = ["a", "b", "c", "d"]
MEASURE = "MRR@10"


def material(count: int = 80) -> tuple[list[JudgedQuery], list[Pool]]:
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
    return queries, pools


def test_what_gains_is_added_and_noise_is_not(bundle: Bundle) -> None:
    queries, pools = material()
    others = ["model1", "model1_pieces"]
    steps, untried = path(bundle, queries, pools, ["bm25"], others, [], MEASURE)
    assert untried == []
    assert [each.members for each in steps] == [("bm25",), ("bm25", "model1")]
    assert min(steps[-1].weights) > 0
    assert steps[-1].values.mean() > steps[0].values.mean()
    assert cheapest(steps) == 1


def test_at_most_one_network_reads_a_query(bundle: Bundle) -> None:
    queries, pools = material()
    names = ["model1", "model1_pieces"]
    noise = np.random.default_rng(1).normal(size=(len(pools), 4)).astype(np.float32)
    good = [
        pool._replace(scores={**pool.scores, "model1_pieces": pool.scores["model1"] + own})
        for pool, own in zip(pools, noise, strict=True)
    ]
    (_, last), _ = path(bundle, queries, good, ["bm25"], names, names, MEASURE)
    assert len(set(last.members) & set(names)) == 1


def test_rankers_are_tried_while_there_is_time(bundle: Bundle) -> None:
    queries, pools = material()
    asked = list[float]()

    def once(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 1

    others = ["model1_pieces", "model1"]
    steps, untried = path(bundle, queries, pools, ["bm25"], others, [], MEASURE, fits=once)
    assert [each.members for each in steps] == [("bm25",)]  # noise gains nothing
    assert untried == ["model1"]
    assert 0 < asked[0] <= asked[1]


@pytest.mark.slow
def test_a_ranker_of_pairs_reads_the_best_last(
    tiny_bundle: Callable[[str], Bundle], tiny_collection: Collection
) -> None:
    bundle, queries = tiny_bundle("cross_encoder"), read_split(tiny_collection, "dev")
    pools = pools_of(bundle, queries, ["bm25"])
    (first,), _ = path(bundle, queries, pools, ["bm25"], [], [], MEASURE)
    step, base = rerank_last(bundle, queries, first, "cross", MEASURE, depth=10)
    assert step.members == ("bm25", "cross")
    assert base.tolist() == first.values.tolist()
    *_, keep, rescore, fuse = step.pipeline.stages
    assert (keep, rescore) == (Keep(10), Rescore("cross"))
    assert isinstance(fuse, Fuse)
    assert fuse.name == LAST
    assert step.weights == fuse.weights
    assert len(bundle.rank(queries[0].text, pipeline=step.pipeline)) <= 10


def test_a_list_has_no_documents_that_do_not_match() -> None:
    scores = np.array([3, 0, 1, 2], np.float32)
    assert choosing.in_list(scores, 3).tolist() == [True, False, True, True]
    assert choosing.in_list(scores, 4, matching=True).tolist() == [True, False, True, True]


def test_rankers_that_learned_nothing_are_weighed_on_more_queries(bundle: Bundle) -> None:
    queries, pools = material(120)
    few, rest = 20, slice(20, None)
    more = More(queries[rest], pools[rest], {"model1_pieces"})
    members = ("bm25", "model1")
    own = weigh(bundle, queries[:few], pools[:few], members, MEASURE)
    both = weigh(bundle, queries[:few], pools[:few], members, MEASURE, more)
    assert both.weights == weigh(bundle, queries, pools, members, MEASURE).weights != own.weights
    assert len(both.values) == few  # which are measured by weights of all other queries
    trained = (*members, "model1_pieces")  # which has seen the answers of those queries
    one, other = (
        weigh(bundle, queries[:few], pools[:few], trained, MEASURE, each) for each in (more, More())
    )
    assert one.weights == other.weights
