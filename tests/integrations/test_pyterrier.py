"""PyTerrier's transformers give what the bundle does, and its experiments what eval does."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet import build
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.runtime import InputError, UnknownRankerError, load

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.integrations.conftest import Imports


@pytest.fixture(scope="module")
def ours(imports: "Imports") -> Any:
    return imports("ranklet.integrations.pyterrier")


def test_the_retriever_returns_what_the_bundle_ranks(ours: Any, built: "Built") -> None:
    found = ours.RankletRetriever(built.indexed, k=3, pipeline="bm25").search("knead the dough")
    ranked = load(built.indexed).rank("knead the dough", k=3, pipeline="bm25")
    assert found["docno"].tolist() == [hit.id for hit in ranked]
    assert found["score"].tolist() == pytest.approx([hit.score for hit in ranked], rel=1e-5)
    assert found["rank"].tolist() == [*range(len(ranked))] != []


def test_columns_of_queries_stay_and_those_of_older_results_go(ours: Any, built: "Built") -> None:
    asked = ours.pandas.DataFrame([
        {"qid": "1", "query": "dough", "topic": "bread", "score": 1.0, "rank": 0},
        {"qid": "2", "query": "qqqq", "topic": "none", "score": 1.0, "rank": 0},
    ])  # fmt: skip
    found = ours.RankletRetriever(built.indexed, k=2, pipeline="bm25")(asked)
    assert [*found.columns] == ["qid", "query", "topic", "docno", "score", "rank"]
    assert {*found["topic"]} == {"bread"}
    assert len(found) == len({*found["docno"]})
    none = ours.RankletRetriever(built.indexed, pipeline="bm25").search("qqqq")
    assert [len(none), *none.columns] == [0, "qid", "query", "docno", "score", "rank"]


def test_a_blank_query_has_no_documents_and_columns_keep_their_types(
    ours: Any, built: "Built"
) -> None:
    asked = ours.pandas.DataFrame({"qid": ["1", "2"], "query": [" ", "dough"], "year": [1, 2]})
    retriever = ours.RankletRetriever(built.indexed, k=2, pipeline="bm25")
    found, none = retriever(asked), retriever(asked[:1])
    assert {*found["qid"]} == {"2"}
    assert len(none) == 0
    assert none.dtypes.equals(found.dtypes)
    assert [str(none[name].dtype) for name in ("year", "score", "rank")] == [
        "int64", "float64", "int64",
    ]  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
def test_a_reranker_scores_the_documents_of_another_retriever(
    named: bool, ours: Any, tmp_path: Path
) -> None:
    texts = ["bread and dough", "dough, dough and yeast", "windows", "a dough"]
    bundle = build([{"id": str(at), "text": each} for at, each in enumerate(texts)], tmp_path / "b")
    given = ours.pandas.DataFrame([
        {"qid": "1", "query": "dough", "docno": str(at), "score": 9.0, "rank": at, "from": "x"}
        for at in (2, 0, 3, 1)
    ])  # fmt: skip
    if not named:
        given["text"] = [texts[int(name)] for name in given["docno"]]
    first = ours.pyterrier.Transformer.from_df(given)
    again = (first >> ours.RankletReranker(bundle)).search("dough")
    ranked = bundle.rank("dough")
    assert again["docno"].tolist() == [*(hit.id for hit in ranked), "2"]
    assert again["score"].tolist()[:3] == pytest.approx([hit.score for hit in ranked], rel=1e-5)
    assert again["rank"].tolist() == [0, 1, 2, 3]
    assert {*again["from"]} == {"x"}
    none = ours.RankletReranker(bundle)(given[:0])
    assert none.dtypes.to_dict() == again[none.columns].dtypes.to_dict()
    with pytest.raises(InputError, match="nowhere"):
        ours.RankletReranker(bundle)(given[["qid", "query"]].assign(docno="nowhere"))
    with pytest.raises(UnknownRankerError):
        ours.RankletReranker(bundle, pipeline="nothing")


def test_unusable_options_are_refused(ours: Any, built: "Built") -> None:
    with pytest.raises(InputError, match="kk"):
        ours.RankletRetriever(built.indexed, kk=3)
    with pytest.raises(UnknownRankerError):
        ours.RankletRetriever(built.indexed, pipeline="nothing")
    with pytest.raises(InputError, match="collection"):
        ours.RankletRetriever(built.exported)
    with pytest.raises(KeyError, match="query"):
        ours.RankletRetriever(built.indexed)(ours.pandas.DataFrame([{"qid": "1"}]))


def test_an_experiment_has_the_values_of_eval(
    ours: Any, imports: "Imports", built: "Built"
) -> None:
    names = ["bm25", "bm25_words"]
    queries = read_split(built.collection, "test")
    topics = ours.pandas.DataFrame([{"qid": each.id, "query": each.text} for each in queries])
    qrels = ours.pandas.DataFrame([
        {"qid": each.id, "docno": document, "label": grade}
        for each in queries
        for document, grade in each.relevant.items()
    ])  # fmt: skip
    measures = imports("pyterrier.measures")
    table = imports("pyterrier").Experiment(
        [ours.RankletRetriever(built.indexed, pipeline=name) for name in names],
        topics, qrels, [measures.nDCG @ 10, measures.RR @ 10, measures.R @ 100], names=names,
    )  # fmt: skip
    bundle = load(built.indexed)
    for evaluation in evaluate(
        bundle, queries, {name: name for name in names}, measures=["nDCG@10", "MRR@10", "R@100"]
    ):
        row = table[table["name"] == evaluation.pipeline].iloc[0]
        for ours_name, theirs in (("nDCG@10", "nDCG@10"), ("MRR@10", "RR@10"), ("R@100", "R@100")):
            assert row[theirs] == pytest.approx(evaluation.mean(ours_name), abs=5e-5)
