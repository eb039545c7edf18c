from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError, UnknownRankerError
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.data.trec import read_qrels, read_run, write_qrels, write_run
from ranklet.training.evaluation import systems as evaluation
from ranklet.training.evaluation.systems import (
    Evaluation,
    comparisons,
    consistency,
    evaluate,
    mark,
    table,
    untied,
)

MEASURES = ("MRR@10", "nDCG@10", "R@100", "AP", "P@5", "RR@10", "nDCG@3")


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


def test_means_are_those_of_ir_measures_on_the_written_run(
    found: list[Evaluation], queries: list[JudgedQuery], tmp_path: Path
) -> None:
    write_qrels(tmp_path / "qrels.txt", {each.id: each.relevant for each in queries})
    qrels = read_qrels(tmp_path / "qrels.txt")
    for each in found:
        written = {query: untied(hits) for query, hits in each.run.items()}
        write_run(tmp_path / f"{each.pipeline}.run", written, each.pipeline)
        run = read_run(tmp_path / f"{each.pipeline}.run")
        wanted = {name: ir_measures.parse_measure(name.replace("MRR", "RR")) for name in MEASURES}
        total = ir_measures.calc_aggregate(set(wanted.values()), qrels, run)
        for name, measure in wanted.items():
            assert each.mean(name) == pytest.approx(total[measure], abs=1e-9)
        assert each.mean("MRR@10") == each.mean("RR@10") > 0.5


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


def test_ties_are_set_apart_by_as_little_as_trec_eval_can_tell() -> None:
    hits = [("a", 0.5), ("b", 0.5), ("c", 0.5), ("d", 0.5 - 1e-8), ("e", 0.0), ("f", 0.0)]
    found = untied(hits)
    assert [name for name, _ in found] == list("abcdef")
    scores = np.array([score for _, score in found], np.float32)
    assert (np.diff(scores) < 0).all()
    np.testing.assert_allclose(scores, [score for _, score in hits], atol=1e-6)
    assert untied([("a", 2.0), ("b", 1.0)]) == [("a", 2.0), ("b", 1.0)]


def test_depth_cuts_the_run(bundle: Bundle, queries: list[JudgedQuery]) -> None:
    cut = evaluate(bundle, queries, {"bm25": None}, depth=1)[0]
    assert max(len(hits) for hits in cut.run.values()) == 1
    assert min(len(hits) for hits in cut.run.values()) == 0


@pytest.mark.parametrize("measure", ["", "accuracy", "nDCG@", "__import__('os')", "alpha_nDCG@10"])
def test_an_unknown_measure_is_refused(
    bundle: Bundle, queries: list[JudgedQuery], measure: str
) -> None:
    with pytest.raises(InputError, match="measure"):
        evaluate(bundle, queries, {"bm25": "bm25"}, measures=[measure])


def test_an_unknown_pipeline_is_refused(bundle: Bundle, queries: list[JudgedQuery]) -> None:
    with pytest.raises(UnknownRankerError, match="unknown pipeline 'x'"):
        evaluate(bundle, queries, {"x": "x"})


def test_the_table_shows_every_mean_and_what_it_is_compared_with(found: list[Evaluation]) -> None:
    lines = table(found, "bm25", labels={"linear": "all together"}).splitlines()
    assert lines[0].split()[1:] == list(MEASURES)
    assert [line[:12].strip() for line in lines[1:4]] == ["bm25", "all together", "bm25_pieces"]
    assert f"{found[1].mean('MRR@10'):.4f}" in lines[2]
    assert "against bm25" in lines[-1]
    assert f"{len(found[0].run)} queries" in lines[-1]


def test_significance_is_marked() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50) / 2
    better = {"base": base, "better": base + 0.3 + rng.random(50) / 9, "same": base}
    made = [Evaluation(name, {"m": values}, {}) for name, values in better.items()]
    compared = comparisons(made, "m", "base")
    assert set(compared) == {"better", "same"}
    assert (mark(compared["better"].p_holm), mark(compared["same"].p_holm)) == ("‡", " ")
    assert "‡" in table(made, "base").splitlines()[2]
    assert comparisons(made[:1], "m", "base") == {}


def test_nothing_is_compared_where_there_is_one_system(found: list[Evaluation]) -> None:
    assert len(table(found[:1], "bm25").splitlines()) == 3
    assert evaluation.SIGNIFICANT[0][0] < evaluation.SIGNIFICANT[1][0]


def test_one_query_can_be_evaluated(bundle: Bundle, queries: list[JudgedQuery]) -> None:
    one = evaluate(bundle, queries[:1], {"bm25": "bm25", "linear": "linear"})
    assert "1 queries" in table(one, "bm25")


def ranked(*names: str) -> list[tuple[str, float]]:
    return [(name, -float(rank)) for rank, name in enumerate(names)]


def test_consistency_is_the_mean_share_of_what_both_find() -> None:
    run = {"q1": ranked("a", "b", "c"), "q2": ranked("d"), "q3": []}
    reference = {"q1": ranked("c", "a"), "q2": ranked("x")}
    assert consistency(run, reference, 1) == pytest.approx((1 + 0) / 2)
    assert consistency(run, reference, 3) == pytest.approx((2 / 3 + 0) / 2)
    assert consistency({}, reference, 3) == 0


def test_a_run_is_consistent_with_itself_as_deep_as_the_reference_goes() -> None:
    run = {"q": ranked(*(f"d{at}" for at in range(2000)))}
    assert consistency(run, run, 1000) == 1
    assert consistency(run, run, 2000) == 0.5
