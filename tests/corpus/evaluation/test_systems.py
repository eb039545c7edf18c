from typing import Any

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.systems import (
    Consistency,
    Evaluation,
    comparisons,
    evaluate,
    mark,
    table,
)
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError, UnknownRankerError

MEASURES = ("MRR@10", "nDCG@10", "R@100", "AP", "P@5", "RR@10", "nDCG@3")

Ranked = list[tuple[str, float]]


@pytest.fixture(scope="module")
def queries(collection: Collection) -> list[JudgedQuery]:
    odd = [
        JudgedQuery("nothing", "gnorp zork", {"tea": 1}),
        JudgedQuery("elsewhere", "the dough", {"x": 2}),
    ]
    return [*read_split(collection, "test"), *odd]


@pytest.fixture(scope="module")
def found(bundle: Bundle, queries: list[JudgedQuery]) -> list[Evaluation]:
    pipelines = {name: name for name in ("bm25", "linear", "bm25_pieces")}
    return evaluate(bundle, queries, pipelines, measures=MEASURES)


def test_values_are_in_the_order_of_the_queries(
    found: list[Evaluation], queries: list[JudgedQuery], bundle: Bundle
) -> None:
    for row, query in enumerate(queries):
        ids = [hit.id for hit in bundle.rank(query.text, k=10, pipeline="bm25")]
        places = [at for at, name in enumerate(ids, 1) if name in query.relevant]
        assert found[0].values["MRR@10"][row] == pytest.approx(1 / places[0] if places else 0)
    assert found[0].values["MRR@10"][-2:].tolist() == [0, 0]  # a miss counts, too


def test_equal_scores_are_measured_as_they_were_ranked(
    bundle: Bundle, collection: Collection
) -> None:
    # A weight of 0 leaves no difference between documents: only our order of ties decides.
    recipe: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "bm25", "k": 5},
        {"stage": "fuse", "method": "linear", "inputs": ["bm25"], "weights": [0.0]},
    ]
    ids = [name for name, _ in bundle.rank_ids("water", pipeline=recipe)]
    query = JudgedQuery("q", "water", {ids[0]: 1})
    measured = evaluate(bundle, [query], {"tied": recipe}, measures=["MRR@10"])[0]
    assert measured.mean("MRR@10") == 1


@pytest.mark.parametrize("measure", ["", "accuracy", "nDCG@", "__import__('os')", "alpha_nDCG@10"])
def test_an_unknown_measure_is_refused(
    bundle: Bundle, queries: list[JudgedQuery], measure: str
) -> None:
    with pytest.raises(InputError, match="measure"):
        evaluate(bundle, queries, {"bm25": "bm25"}, measures=[measure])


def test_an_unknown_pipeline_is_refused(bundle: Bundle, queries: list[JudgedQuery]) -> None:
    with pytest.raises(UnknownRankerError, match="unknown pipeline 'x'"):
        evaluate(bundle, queries, {"x": "x"})


def test_the_table_shows_every_mean_and_what_it_is_compared_with(
    found: list[Evaluation], queries: list[JudgedQuery]
) -> None:
    lines = table(found, "bm25").splitlines()
    assert lines[0].split()[1:] == list(MEASURES)
    assert [line[:12].strip() for line in lines[1:4]] == ["bm25", "linear", "bm25_pieces"]
    assert f"{found[1].mean('MRR@10'):.4f}" in lines[2]
    assert "against bm25" in lines[-1]
    assert found[0].queries == len(queries)
    assert f"{len(queries)} queries" in lines[-1]


def test_significance_is_marked() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50) / 2
    better = {"base": base, "better": base + 0.3 + rng.random(50) / 9, "same": base}
    made = [Evaluation(name, {"m": values}) for name, values in better.items()]
    compared = comparisons(made, "m", "base")
    assert set(compared) == {"better"}  # an equal run is no test, so Holm corrects for one
    assert compared["better"].p_holm == compared["better"].p
    assert mark(compared["better"].p_holm) == "‡"
    assert "‡" in table(made, "base").splitlines()[2]
    assert comparisons(made[:1], "m", "base") == {}


def test_one_query_can_be_evaluated(bundle: Bundle, queries: list[JudgedQuery]) -> None:
    one = evaluate(bundle, queries[:1], {"bm25": "bm25", "linear": "linear"})
    assert "1 query;" in table(one, "bm25")


def ranked(*names: str) -> Ranked:
    return [(name, -float(rank)) for rank, name in enumerate(names)]


def means(n: int, *queries: tuple[Ranked, Ranked]) -> dict[str, float]:
    counted = Consistency(n)
    for number, (reference, run) in enumerate(queries):
        counted.add(f"q{number}", {"base": reference, "other": run})
    return counted.means()


def test_consistency_is_the_mean_share_of_what_both_find() -> None:
    queries = [
        (ranked("c", "a"), ranked("a", "b", "c")),
        (ranked("x"), ranked("d")),
        (ranked("x"), []),
    ]
    assert means(1, *queries) == {"other": pytest.approx((1 + 0) / 2)}
    assert means(3, *queries) == {"other": pytest.approx((2 / 3 + 0) / 2)}
    assert means(3, ([], [])) == {"other": 0}
    assert Consistency(3).means() == {}
