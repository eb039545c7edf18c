"""Haystack's retriever and ranker give what the bundle does, alone and in a pipeline."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime import Bundle, InputError, UnknownRankerError

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.integrations.conftest import Imports

QUERY = "knead the dough, feed the starter, patch the tyre"


@pytest.fixture(scope="module")
def ours(imports: "Imports") -> Any:
    return imports("ranklet.integrations.haystack")


@pytest.fixture
def documents(ours: Any) -> list[Any]:
    texts = (
        "Wash the windows with vinegar.",
        "Let the dough rise for an hour.",
        "Knead the dough.",
    )
    return [
        ours.Document(content=text, id=str(place), meta={"place": place})
        for place, text in enumerate(texts)
    ]


def as_pairs(found: dict[str, list[Any]]) -> list[tuple[str, float]]:
    return [(each.id, each.score) for each in found["documents"]]


def test_the_retriever_returns_what_the_bundle_ranks(
    ours: Any, built: "Built", bundle: Bundle
) -> None:
    retriever = ours.RankletRetriever(
        str(built.fused), top_k=4, pipeline="bm25", explain=True, budget_ms=None
    )
    found = retriever.run(QUERY)
    hits = bundle.rank(QUERY, k=4, pipeline="bm25", explain=True)
    assert as_pairs(found) == [(hit.id, hit.score) for hit in hits]
    best, hit = found["documents"][0], hits[0]
    assert (best.content, best.meta["title"]) == (hit.text, hit.title)
    assert hit.explanation is not None
    assert best.meta["explanation"] == hit.explanation.to_dict()
    assert as_pairs(retriever.run(QUERY, top_k=2)) == as_pairs(found)[:2]


def test_a_budget_that_ended_early_is_reported(ours: Any, bundle: Bundle) -> None:
    found = ours.RankletRetriever(bundle, pipeline="linear", budget_ms=0).run(QUERY)
    assert found["documents"][0].meta["left_out"]


def test_errors_are_those_of_ranklet(
    ours: Any, bundle: Bundle, built: "Built", documents: list[Any]
) -> None:
    for wrong, complaint in (
        ({"kk": 3}, "unknown option 'kk'"),
        ({"k": 3}, "called top_k in Haystack"),
        ({"top_k": "three"}, "k is 'three'; it must be a whole number"),
        ({"budget_ms": -1}, "budget_ms is -1; it must be"),
    ):
        for made in (ours.RankletRetriever, ours.RankletRanker):
            with pytest.raises(InputError, match=complaint):
                made(bundle, **wrong)
    with pytest.raises(UnknownRankerError, match="unknown pipeline"):
        ours.RankletRetriever(bundle, pipeline="none")
    with pytest.raises(InputError, match="no collection"):
        ours.RankletRetriever(built.exported)
    picture = ours.Document(meta={"picture": "dough.png"})
    with pytest.raises(InputError, match=r"documents\[3\] has no text"):
        ours.RankletRanker(bundle).run(QUERY, [*documents, picture])


def test_the_ranker_ranks_copies_and_keeps_their_meta(
    ours: Any, bundle: Bundle, documents: list[Any]
) -> None:
    before = [each.to_dict() for each in documents]
    found = ours.RankletRanker(bundle, top_k=2, explain=True).run(QUERY, documents)
    hits = bundle.rank(QUERY, [each.content for each in documents], k=2, explain=True)
    assert as_pairs(found) == [(str(hit.index), hit.score) for hit in hits]
    assert [each.meta["place"] for each in found["documents"]] == [hit.index for hit in hits]
    assert all(each.meta["explanation"]["value"] for each in found["documents"])
    assert [each.to_dict() for each in documents] == before
    assert ours.RankletRanker(bundle).run(QUERY, [])["documents"] == []


def test_a_pipeline_is_stored_restored_and_run(
    ours: Any, imports: "Imports", built: "Built"
) -> None:
    haystack = imports("haystack")
    pipeline = haystack.Pipeline()
    retriever = ours.RankletRetriever(Bundle(built.fused), top_k=5, pipeline="bm25")
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("ranker", ours.RankletRanker(built.indexed, top_k=2, pipeline="bm25"))
    pipeline.connect("retriever.documents", "ranker.documents")
    asked = {"retriever": {"query": QUERY}, "ranker": {"query": QUERY}}
    expected = as_pairs(pipeline.run(asked)["ranker"])
    assert len(expected) == 2
    text = pipeline.dumps()
    assert str(built.fused) in text
    again = haystack.Pipeline.loads(text, allowed_modules=["ranklet.integrations.*"])
    assert as_pairs(again.run(asked)["ranker"]) == expected
    stored = json.loads(json.dumps(retriever.to_dict()))
    assert ours.RankletRetriever.from_dict(stored).to_dict() == stored


def test_nothing_is_sent_while_the_variable_says_so(ours: Any, imports: "Imports") -> None:
    assert ours.component is not None
    assert imports("haystack.telemetry._telemetry").telemetry is None


def test_sources_are_where_haystack_looks_for_them(ours: Any, long: Bundle) -> None:
    (found,) = ours.RankletRetriever(long, tokens=40).run("knead dough")["documents"]
    assert (found.meta["source_id"], found.meta["page_number"]) == ("page=7/bread.md", 7)
    assert found.meta["split_idx_start"] == 30
    assert found.meta["heading"] == ["Dough"]
