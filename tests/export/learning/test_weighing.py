"""Weights are learned on other queries than they are measured on, and of pairs after the others."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.export.learning.test_choosing import MEASURE, material

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.export.learning.weighing import LAST, Material, in_list, read_pools, rerank_last, weigh
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipeline import Fuse, Keep, Rescore


@pytest.mark.slow
def test_a_ranker_of_pairs_reads_the_best_last(
    tiny_bundle: Callable[[str], Bundle], tiny_collection: Collection
) -> None:
    bundle, queries = tiny_bundle("cross_encoder"), read_split(tiny_collection, "dev")
    material = Material(queries, read_pools(bundle, queries, ["bm25"]))
    first = weigh(bundle, material, ["bm25"], MEASURE)
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
    assert in_list(scores, 3).tolist() == [True, False, True, True]
    assert in_list(scores, 4, matching=True).tolist() == [True, False, True, True]


def test_rankers_that_learned_nothing_are_weighed_on_more_queries(bundle: Bundle) -> None:
    whole, few = material(120), 20
    own = Material(whole.queries[:few], whole.pools[:few])
    more = Material(whole.queries, whole.pools, few, 100, trained={"model1_pieces"})
    members = ("bm25", "model1")
    one, both = (weigh(bundle, each, members, MEASURE) for each in (own, more))
    assert both.weights == weigh(bundle, whole, members, MEASURE).weights != one.weights
    assert len(both.values) == few  # which are measured by weights of all other queries
    trained = (*members, "model1_pieces")  # which has seen the answers of those queries
    first, second = (weigh(bundle, each, trained, MEASURE) for each in (own, more))
    assert first.weights == second.weights


def test_rankers_that_learned_from_none_are_measured_on_all_queries(bundle: Bundle) -> None:
    whole, members = material(120), ("bm25", "model1")
    given = Material(whole.queries, whole.pools, 20, 40, members, {"model1_pieces"})
    found, alike = (weigh(bundle, each, members, MEASURE) for each in (given, whole))
    assert found.weights == alike.weights
    assert found.values.tolist() == alike.values.tolist()
    assert [given.rows(each) for each in (["bm25"], ["tuned"], ["bm25", "model1_pieces"])] == [
        (120, 120), (60, 20), (20, 20)
    ]  # fmt: skip


def test_a_ranker_whose_weight_is_0_takes_no_part(bundle: Bundle) -> None:
    whole = material()
    wrong = [
        each._replace(scores={**each.scores, "model1": -each.scores["bm25"]})
        for each in whole.pools
    ]
    step = weigh(bundle, Material(whole.queries, wrong), ("bm25", "model1"), MEASURE)
    assert step.members == ("bm25",)
    assert step.pipeline.rankers == ("bm25",)
