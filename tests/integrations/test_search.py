"""What all integrations share refuses wrong options early, and passes the others on."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.metadata_rows import DUE, KEYS, YEAR

from ranklet.integrations.search import (
    absolute_path,
    check,
    computed,
    own_text,
    plain_pipeline,
    rank,
    rank_async,
    retrieve,
    stored,
)
from ranklet.runtime import Bundle, InputError, Pipeline, Ranking, Retrieve

if TYPE_CHECKING:
    from tests.conftest import Built, Described

QUERY = "knead the dough, feed the starter, patch the tyre"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kk": 3}, "unknown option 'kk'; the options are k, offset, where"),
        ({"k": -1}, "k is -1; it must be a whole number"),
        ({"k": None}, "k is None; it must be a whole number"),
        ({"budget_ms": "soon"}, "budget_ms is 'soon'; it must be a number"),
        ({"pipeline": 7}, "this is not a pipeline"),
        ({"offset": -1}, "offset is -1; it must be a whole number"),
        ({"where": {"year": 2020}}, "year"),
        ({"group_by": "year"}, "year"),
    ],
)
def test_a_wrong_option_is_refused_before_any_query(
    bundle: Bundle, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        check(bundle, {"k": 3, **options}, retrieves=True)


def test_filters_belong_to_retrievers(described: "Described") -> None:
    options: dict[str, Any] = {"k": 5, "where": {YEAR: {">=": 2021}}, "group_by": YEAR}
    options |= {"facets": [KEYS], "sort": [f"-{YEAR}"]}
    check(described.path, options, retrieves=True)
    hits = rank(described.path, "bread dough", options)
    assert hits.hits == described.bundle.rank("bread dough", **options).hits
    assert len({hit.metadata[YEAR] for hit in hits}) == len(hits) > 1
    with pytest.raises(InputError, match="holds lists of strings"):
        check(described.path, {"k": 5, "group_by": KEYS}, retrieves=True)
    with pytest.raises(InputError, match="facets: unknown field"):
        check(described.path, {"k": 5, "facets": ["yaer"]}, retrieves=True)
    with pytest.raises(InputError, match="holds lists of strings"):
        check(described.path, {"k": 5, "sort": [KEYS]}, retrieves=True)
    for name in ("where", "group_by", "facets", "sort"):
        with pytest.raises(InputError, match=f"{name}: .*give it to the retriever"):
            check(described.path, {name: options[name]}, retrieves=False)


def test_fields_of_documents_are_plain_values(described: "Described") -> None:
    (hit,) = described.bundle.rank("bread dough", k=1, where={DUE: {"missing": False}})
    assert stored(hit)[DUE] == str(hit.metadata[DUE])
    assert json.loads(json.dumps(stored(hit))) == stored(hit)


def test_ranking_passes_the_options_on(bundle: Bundle, built: "Built") -> None:
    options = {"k": 4, "pipeline": "bm25", "explain": True, "budget_ms": None}
    expected = bundle.rank(QUERY, k=4, pipeline="bm25", explain=True)
    assert rank(built.fused, QUERY, options).hits == expected.hits
    assert asyncio.run(rank_async(built.fused, QUERY, options)).hits == expected.hits
    with pytest.raises(InputError, match="unknown option 'kk'"):
        rank(bundle, QUERY, {"kk": 4})


def test_without_k_all_texts_are_ranked(bundle: Bundle) -> None:
    texts = [{"text": f"dough {number}", "title": ""} for number in range(12)]
    assert len(rank(bundle, QUERY, {"k": None}, texts)) == 12
    assert len(rank(bundle, QUERY, {"k": 2}, texts)) == 2
    assert len(rank(bundle, QUERY, {"k": None}, [])) == 0


def test_a_title_is_ranked_and_a_missing_text_refused() -> None:
    assert own_text("b", {"title": "a", "year": 7}, 0) == {"text": "b", "title": "a"}
    assert own_text("b", {"title": 7}, 0) == {"text": "b", "title": ""}
    with pytest.raises(InputError, match=r"documents\[3\] has no text"):
        own_text(None, {}, 3)


def test_what_a_hit_is_described_by(bundle: Bundle) -> None:
    plain = bundle.rank(QUERY, k=1)
    assert stored(plain[0])["title"] == plain[0].title
    assert computed(plain[0], plain) == {}
    explained = bundle.rank(QUERY, k=1, explain=True)
    assert explained[0].explanation is not None
    assert computed(explained[0], explained) == {"explanation": explained[0].explanation.to_dict()}
    hurried = Ranking(plain.hits, QUERY, (), left_out=("rescore with model1",))
    assert computed(plain[0], hurried) == {"left_out": ["rescore with model1"]}


def test_a_component_is_stored_by_plain_values(bundle: Bundle, built: "Built") -> None:
    assert absolute_path(bundle) == absolute_path(built.fused) == absolute_path(str(built.fused))
    assert plain_pipeline("linear") == "linear"
    own = Pipeline((Retrieve("bm25", 5),))
    assert Pipeline.from_json(plain_pipeline(own)) == own
    assert plain_pipeline([Retrieve("bm25", 5)]) == own.to_json()


def test_a_collection_in_milvus_is_not_stored_as_the_bundle(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bundle, "collection", property(lambda _: "milvus://db:19530/books"))
    with pytest.raises(InputError, match="over a collection in Milvus cannot be stored"):
        absolute_path(bundle)


def test_a_part_of_a_bundle_is_not_stored_as_the_whole(described: "Described") -> None:
    with pytest.raises(InputError, match="a component over a restricted bundle cannot be stored"):
        absolute_path(described.bundle.only({"year": 2020}))
    assert absolute_path(described.bundle) == str(described.path)


def test_tokens_return_parts_of_documents_with_their_places(long: Bundle) -> None:
    (found,) = retrieve(long, "knead dough", {"k": 5, "tokens": 40, "passages": 1})
    whole = long.document(found.document).text
    assert (
        found.text
        == whole[found.start : found.end]
        == "Dough\n\nKnead the dough well. Let the dough rest."
    )
    assert (found.page, found.metadata["page"], found.metadata["heading"]) == (7, 7, ["Dough"])
    assert found.id == f"{found.document}#{found.start}-{found.end}"
    (hit,) = retrieve(long, "knead dough", {"k": 5, "tokens": None})
    assert (hit.id, hit.start, hit.metadata["heading"]) == (found.document, found.start, ["Dough"])
    assert retrieve(long, "knead dough", {"tokens": 1}) == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tokens": 0}, "tokens is 0; it must be a whole number"),
        ({"tokens": 9, "explain": True}, "explain is of hits; leave it out, or leave tokens out"),
        ({"tokens": 9, "facets": ["page"]}, "facets is of hits"),
    ],
)
def test_options_of_hits_are_refused_with_tokens(
    long: Bundle, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        check(long, {"k": 3, **options}, retrieves=True)
    with pytest.raises(InputError, match="unknown option 'tokens'"):
        check(long, {"k": 3, "tokens": 9}, retrieves=False)
