import json
from typing import Any

import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.pipelines.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve

A = {"stage": "retrieve", "ranker": "a", "k": 5}
B = {"stage": "retrieve", "ranker": "b"}
RESCORE = {"stage": "rescore", "ranker": "c"}
KEEP = {"stage": "keep", "k": 3}
BOOST = {
    "stage": "boost",
    "signals": {
        "day": {"half_life": "30d", "weight": 0.5, "now": "2024-05-31"},
        "stars": {"saturation": 3, "weight": -1},
        "kind": {"in": ["a", True, 2], "weight": 1},
    },
}


def fuse(method: str = "rrf", inputs: Any = ("a", "b"), **options: Any) -> dict[str, Any]:
    weights = [] if method == "alternate" else [1.0] * len(inputs)
    return {"stage": "fuse", "method": method, "inputs": [*inputs], "weights": weights} | options


RIGHT = [
    [A],
    [A, RESCORE],
    [A, KEEP, RESCORE, KEEP],
    [A, B, fuse()],
    [A, B, fuse("alternate")],
    [A, B, fuse("linear"), KEEP],
    [A, B, RESCORE, fuse("linear", ("a", "b", "c"), name="x"), fuse("rrf", ("x", "a"), name="y")],
    [A, fuse("rrf", ("a",))],
    [A, {"stage": "rescore", "ranker": "a"}],
    [A, *[KEEP] * 31],
    [A, B, fuse(), BOOST, KEEP, KEEP],
]


@pytest.mark.parametrize("raw", RIGHT)
def test_a_recipe_reads_back_what_was_written(raw: list[dict[str, Any]]) -> None:
    pipeline = Pipeline.from_json(raw)
    written = json.loads(json.dumps(pipeline.to_json()))
    assert Pipeline.from_json(written) == pipeline
    assert [each["stage"] for each in written] == [each["stage"] for each in raw]
    for stages in (pipeline.stages, [pipeline.stages[0], *written[1:]]):  # objects, and both
        assert Pipeline.from_json(stages) == pipeline


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (None, "must be a list of 1 to 32"),
        (5, "must be a list"),
        ("bm25", "must be a list"),
        ({"stage": "retrieve"}, "must be a list"),
        ([], "must be a list of 1 to 32"),
        ([A] * 33, "must be a list of 1 to 32"),
        (["bm25"], r"\[0\] must be a stage \(Retrieve, Rescore, Fuse, Boost, Keep\), or an object"),
        ([Pipeline((Retrieve("a"),))], r"\[0\] must be a stage"),
        (Retrieve("a"), "must be a list of 1 to 32 stages, not Retrieve"),
        ([Retrieve("a", 0)], "k must be a whole"),
        ([Retrieve("a"), Fuse("rrf", ("a", "x"), (1, 1))], "fuses 'x'"),
        ([{}], "'stage' is one of retrieve, rescore, fuse, boost, keep"),
        ([{"stage": "os"}], "'stage' is one of"),
        ([{"stage": ["retrieve"]}], "'stage' is one of"),
        ([{"stage": {}}], "'stage' is one of"),
        ([A | {"depth": 3}], "no option 'depth'; it has ranker, k"),
        ([{"stage": "retrieve"}], "ranker"),
        ([A | {"ranker": 7}], "ranker must be a string"),
        *[([A | {"k": k}], "k must be a whole") for k in (0, -1, 1.5, True, "5", None, 1 << 31)],
        ([RESCORE], "must begin with a retrieve"),
        ([KEEP, A], "must begin with a retrieve"),
        ([A, {"stage": "keep"}], "k"),
        ([A, B], "retrieves 2 lists but never fuses"),
        ([A, B, RESCORE], "never fuses"),
        ([A, BOOST, RESCORE], "only keep stages may follow a boost"),
        ([A, BOOST, BOOST], "only keep stages may follow a boost"),
        ([A, B, BOOST], "boosts of 2 unfused lists"),
        ([A, {"stage": "boost"}], "boost needs 'signals'"),
        ([A, {"stage": "boost", "signals": {}}], "at least one field"),
        ([A, {"stage": "boost", "signals": {"x": {"log": 1, "weight": 1}}}], "log takes true"),
        ([A, B, KEEP, fuse()], "keeps 3 of 2 unfused lists"),
        ([A, RESCORE, B, fuse()], "retrieve stages must come first"),
        ([A, A, fuse("rrf", ("a",))], "by 'a' again"),
        ([A, B, fuse(inputs=("a", "x"))], "fuses 'x', which no earlier stage computes"),
        ([A, B, fuse(name="x", inputs=("x",))], "fuses 'x'"),
        ([A, B, fuse(name="a")], "'a' is already used"),
        ([A, B, fuse(), fuse()], "'fused' is already used"),
        ([A, fuse(inputs=("a",), name="c"), RESCORE], "the name of a fusion"),
        ([A, B, fuse(method="mean")], "allowed are linear, rrf, alternate"),
        ([A, B, fuse(inputs=())], "different names"),
        ([A, B, fuse(inputs=("a", "a"))], "different names"),
        ([A, B, fuse() | {"inputs": "ab"}], "inputs must be a list of names"),
        ([A, B, fuse() | {"inputs": [1, 2]}], "inputs must be a list of names"),
        ([A, B, fuse(weights=[1.0])], "rrf takes 2 weights"),
        ([A, B, fuse("alternate", weights=[1.0, 1.0])], "alternate takes 0 weights"),
        ([A, B, fuse(weights=[1.0, float("nan")])], "weights must be numbers"),
        ([A, B, fuse(weights=[1.0, float("inf")])], "weights must be numbers"),
        ([A, B, fuse(weights=[1.0, 10**400])], "weights must be numbers"),
        ([A, B, fuse(weights=[1.0, True])], "weights must be numbers"),
        ([A, B, fuse(weights=["1", "1"])], "weights must be numbers"),
        ([A, B, fuse(weights=2.0)], "weights must be numbers"),
        ([A, B, fuse(name=None)], "name must be a string"),
        ([A, B, fuse("linear", scaling="max")], "fuse has no option 'scaling'"),
    ],
)
def test_a_wrong_recipe_is_refused(raw: Any, message: str) -> None:
    with pytest.raises(BundleError, match=f"^here.*{message}"):
        Pipeline.from_json(raw, "here")


def test_the_rankers_are_named_once_in_order_of_use() -> None:
    stages = (Retrieve("a"), Retrieve("b"), Rescore("c"), Rescore("a"))
    assert Pipeline(stages).rankers == ("a", "b", "c")


def test_cuts_can_be_left_out() -> None:
    pipeline = Pipeline((Retrieve("a"), Keep(5), Rescore("b"), Keep(3)))
    assert pipeline.without_cuts() == Pipeline((Retrieve("a"), Rescore("b")))


def test_a_recipe_reads_like_one() -> None:
    linear = Fuse("linear", ("a", "b"), (0.25, 1.0))
    pipeline = Pipeline((Retrieve("a", 9), Rescore("b"), linear, Keep(3)))
    assert str(pipeline) == "retrieve 9 by a → rescore by b → fuse (linear) 0.25·a + 1·b → keep 3"
    assert str(Fuse("alternate", ("a", "b"))) == "alternate between a and b"
