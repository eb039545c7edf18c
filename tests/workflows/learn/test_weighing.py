"""Weights are learned on other queries than they are measured on, and of pairs after the others."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.workflows.learn.test_choosing import MEASURE, material

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime import Bundle, InputError, load
from ranklet.runtime.pipelines.pipeline import Boost, Fuse, Keep, Pipeline, Rescore, Retrieve
from ranklet.runtime.pipelines.signals import read_signals
from ranklet.runtime.search.local import LocalSearch
from ranklet.workflows.build import build
from ranklet.workflows.learn.learn import learn
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.weighing import LAST, Material, in_list, read_pools, rerank_last, weigh


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


# ------------------------------------------------------------------------------ metadata

NOW = date(2024, 6, 1)
TRUTH = {"day": {"half_life": "90d", "weight": 0.6, "now": NOW.isoformat()},
         "stars": {"log": True, "weight": 0.2}}  # fmt: skip
ASKED: dict[str, dict[str, Any]] = {
    "day": {"half_life": "90d", "now": NOW.isoformat()}, "stars": {"log": True},
    "noise": {"linear": True}}  # fmt: skip
QUERIES = 160
OPTIONS = LearnOptions(training=False, boost=ASKED, measure="MRR@10", minutes=5)


def rows(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return documents of many topics, so that queries share none."""
    return [
        {
            "id": f"d{n}",
            "text": f"topic{n % QUERIES} "
            + " ".join(f"word{w}" for w in rng.integers(0, 9, rng.integers(2, 6))),
            "day": NOW - timedelta(int(rng.exponential(200))),
            "stars": int(rng.pareto(0.7) * 10),
            "noise": float(rng.random()),
        }
        for n in range(12 * QUERIES)
    ]


def write_clicks(path: Path, bundle: Bundle, boost: Any, rng: np.random.Generator) -> None:
    """Write clicks on the documents that are best by the words, by the boost, and by chance."""
    lines, search = ["query,id,clicks"], bundle._search
    assert isinstance(search, LocalSearch)
    for topic in range(QUERIES):
        query = f"topic{topic} word{topic % 9}"
        unit = 1 / search.ranker("bm25").scale(search.read(query))
        pipeline = Pipeline((Retrieve("bm25", 200),)).boosted(boost)
        own = [
            (name, score)
            for name, score in bundle.rank_ids(query, pipeline=pipeline)
            if int(name[1:]) % QUERIES == topic
        ]
        scores = np.array([score for _, score in own]) + unit * rng.gumbel(0, 0.05, len(own))
        lines.append(f"{query},{own[int(scores.argmax())][0]},5")
    path.write_text("\n".join(lines))


@pytest.mark.slow
def test_weights_come_near_the_truth(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    bundle = load(build(rows(rng), tmp_path / "in.ranklet").path)
    write_clicks(tmp_path / "clicks.csv", bundle, read_signals(TRUTH), rng)
    learned = learn(bundle, tmp_path / "clicks.csv", tmp_path / "out.ranklet", OPTIONS)
    assert learned.kept is not None
    assert "boost by day" in learned.kept.name
    assert learned.kept.gain.low > 0.1
    assert learned.bundle is not None
    boost = learned.bundle.manifest.pipeline(None).boost
    assert isinstance(boost, Boost)
    weights = {each.field: each.weight for each in boost.signals}
    assert 0.15 < weights["day"] < 1.2
    assert 1.5 < weights["day"] / weights["stars"] < 6  # it is 3 in truth
    assert weights.get("noise", 0) < 0.1
    assert all(each.now is None for each in boost.signals)  # ages count from the clock
    explained = learned.bundle.rank("word1 word2", explain=True)[0].explanation
    assert explained is not None
    assert "log(stars)" in str(explained)


@pytest.mark.slow
def test_what_says_nothing_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(9)
    bundle = load(build(rows(rng), tmp_path / "in.ranklet").path)
    write_clicks(tmp_path / "clicks.csv", bundle, (), rng)
    paths = [str(tmp_path / name) for name in ("in.ranklet", "clicks.csv", "out.ranklet")]
    flags = ["--no-training", "--boost", '{"noise": {"linear": true}}']
    assert main(["learn", *paths[:2], "-o", paths[2], *flags]) == 3
    assert "without boost by noise" in capsys.readouterr().out
    with pytest.raises(InputError, match="did you mean 'noise'"):
        learn(
            bundle, paths[1], paths[2], LearnOptions(training=False, boost={"noyse": {"log": True}})
        )
