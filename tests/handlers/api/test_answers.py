"""The part that all handlers share, without any server."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from tests.conftest import Built, Described
from tests.kinds import TinyRankers
from tests.metadata_rows import WORDS

from ranklet.handlers.api.answers import (
    ANSWERS,
    DIGITS,
    Answer,
    document,
    explain,
    info,
    model,
    models,
    rank,
    rerank,
)
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import parse
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError, OutOfTimeError, UnknownDocumentError
from ranklet.runtime.syntax.query_syntax import Query

LIMITS = Limits()
REQUEST: dict[str, Any] = {"query": "rising dough", "k": 3}
TEXTS = ["Knead the dough well.", "Wash the windows.", "Let the dough rise, then knead the dough."]


def refused(bundle: Bundle, path: str, body: Any, limits: Limits = LIMITS) -> tuple[int, str]:
    """Return the status and the message of a body that must be refused."""
    try:
        ANSWERS[path](bundle, parse(json.dumps(body).encode()), limits, None)
    except Exception as error:
        status, body = failure(error)
        assert set(body) == {"error", "error_type"}
        return status, body["error"]
    raise AssertionError(f"{body} was answered")


def test_rank_answers_as_the_runtime_does(bundle: Bundle) -> None:
    wanted = bundle.rank("rising dough", k=3, explain=True)
    answer = rank(bundle, {"query": "rising dough", "k": 3, "explain": True}, LIMITS)
    assert isinstance(answer.body, dict)
    hits = answer.body["hits"]
    assert [(hit["id"], hit["score"], hit["title"]) for hit in hits] == [
        (hit.id, hit.score, hit.title) for hit in wanted
    ]
    assert hits[0]["explanation"]["value"] == pytest.approx(hits[0]["score"], rel=1e-5)
    assert list(answer.body["ms"]) == [stage for stage, _ in answer.timings]
    json.dumps(answer.body, allow_nan=False)


def test_null_is_as_good_as_absent(bundle: Bundle) -> None:
    plain = rank(bundle, {"query": "dough"}, LIMITS).body
    nulls = {"k": None, "pipeline": None, "explain": None, "documents": None, "filter": None}
    assert isinstance(plain, dict)
    full = rank(bundle, {"query": "dough", **nulls}, LIMITS).body
    assert isinstance(full, dict)
    assert full["hits"] == plain["hits"]


@pytest.mark.parametrize(
    "document",
    [
        *("dough", {"text": "dough", "id": None, "title": None}, {"text": "dough", "id": 7}),
        *({"text": None}, {"text": "dough", "id": 1.5}, {"text": "dough", "title": 0}, 7, None),
    ],
    ids=str,
)
def test_a_document_of_the_caller_is_what_it_is_to_the_runtime(
    bundle: Bundle, document: Any
) -> None:
    try:
        expected = [(hit.id, hit.title) for hit in bundle.rank("dough", [document])]
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            rank(bundle, {"query": "dough", "documents": [document]}, LIMITS)
    else:
        body = rank(bundle, {"query": "dough", "documents": [document]}, LIMITS).body
        assert isinstance(body, dict)
        assert [(hit["id"], hit["title"]) for hit in body["hits"]] == expected


def test_hits_may_come_without_their_texts(bundle: Bundle) -> None:
    body = rank(bundle, {"query": "dough", "return_documents": False}, LIMITS).body
    assert isinstance(body, dict)
    assert set(body["hits"][0]) == {"id", "score", "index"}


def test_without_time_the_first_stage_answers_and_says_so(bundle: Bundle) -> None:
    answer = rank(bundle, REQUEST, LIMITS, budget_ms=0)
    assert isinstance(answer.body, dict)
    assert answer.body["budget_spent"] is True
    assert answer.body["left_out"] == list(answer.left_out) != []
    assert answer.body["hits"]


def test_cut_texts_are_counted_in_the_answer(bundle: Bundle) -> None:
    class Cutting:
        manifest = bundle.manifest
        has_collection = True

        def __len__(self) -> int:
            return len(bundle)

        def rank(self, *given: Any, **options: Any) -> Any:
            return replace(bundle.rank(*given, **options), truncated={"dense": 2})

    answer = rank(Cutting(), REQUEST, LIMITS)  # type: ignore[arg-type]
    assert isinstance(answer.body, dict)
    assert answer.body["truncated"] == {"dense": 2}


def test_explain_explains_any_document(bundle: Bundle) -> None:
    first = bundle.rank("dough")[0]
    body = explain(bundle, {"query": "dough", "id": first.id}, LIMITS).body
    assert isinstance(body, dict)
    assert body["score"] == pytest.approx(first.score, rel=1e-5)
    assert body["explanation"]["parts"]


@pytest.mark.parametrize("version", ["", "1", "2"])
def test_documents_get_the_object_of_cohere_and_jina(bundle: Bundle, version: str) -> None:
    documents: list[Any] = [TEXTS[0], {"text": TEXTS[1]}, {"text": TEXTS[2], "id": "x"}]
    request = {"query": "dough", "documents": documents, "return_documents": True, "model": "m"}
    body = rerank(bundle, request, LIMITS, version=version).body
    assert isinstance(body, dict)
    assert [each["index"] for each in body["results"]] == [2, 0, 1]
    assert [each["document"]["text"] for each in body["results"]] == [TEXTS[at] for at in (2, 0, 1)]
    assert body["model"] == "m"
    assert body["meta"].get("api_version") == ({"version": version} if version else None)


def test_texts_get_the_bare_list_of_tei(bundle: Bundle) -> None:
    request = {
        "query": "dough",
        "texts": TEXTS,
        "return_text": True,
        "truncation_direction": "Right",
    }
    body: Any = rerank(bundle, request, LIMITS).body
    assert [(each["index"], each["text"]) for each in body] == [(at, TEXTS[at]) for at in (2, 0, 1)]
    scores = bundle.score("dough", TEXTS).tolist()
    assert [each["score"] for each in body] == sorted(scores, reverse=True)


def test_fields_of_clients_that_change_nothing_are_accepted(bundle: Bundle) -> None:
    body: dict[str, Any] = {"query": "dough", "documents": TEXTS}
    more = {"priority": 7, "user": "me", "raw_scores": True, "truncate": True, "rank_fields": None}
    more |= {"max_tokens_per_doc": 4096, "max_chunks_per_doc": 10}  # as Cohere does without them
    assert rerank(bundle, {**body, **more}, LIMITS).body == rerank(bundle, body, LIMITS).body


def test_a_caller_who_wants_no_text_cut_learns_that_one_was(bundle: Bundle) -> None:
    class Cutting:
        manifest = bundle.manifest

        def rank(self, *given: Any, **options: Any) -> Any:
            return replace(bundle.rank(*given, **options), truncated={"dense": 2})

    body = {"query": "dough", "texts": TEXTS}
    cutting: Any = Cutting()
    assert rerank(cutting, body, LIMITS).body == rerank(bundle, body, LIMITS).body
    status, message = refused(cutting, "/rerank", {**body, "truncate": False})
    assert (status, message) == (
        413,
        "'truncate' is false, and 2 texts are longer than 'dense' reads",
    )
    assert rerank(bundle, {**body, "truncate": False}, LIMITS).body


@pytest.mark.parametrize("name", ["top_n", "top_k"])
def test_only_the_best_come_back_where_few_are_wanted(bundle: Bundle, name: str) -> None:
    for key in ("texts", "documents"):
        for wanted, got in ((1, 1), (2, 2), (99, 3), (None, 3)):
            body = rerank(bundle, {"query": "dough", key: TEXTS, name: wanted}, LIMITS).body
            assert len(body["results"] if isinstance(body, dict) else body) == got


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/rank", [], 400, "must be a JSON object, not an empty list"),
        ("/rank", {}, 422, "'query' is missing"),
        ("/context", {"query": " \n"}, 422, "query is empty"),
        ("/rank", {"query": 7}, 422, "'query' must be a string, not a number"),
        ("/rank", {"query": "a" * 10_001}, 413, "10,001 characters"),
        ("/rank", {"query": "a", "k": "5"}, 422, "'k' must be a whole number, not a string"),
        ("/rank", {"query": "a", "k": 5.5}, 422, "'k' must be a whole number"),
        ("/rank", {"query": "a", "k": True}, 422, "not a boolean"),
        ("/rank", {"query": "a", "k": -1}, 422, "from 0 to 1,000, not -1"),
        ("/rank", {"query": "a", "k": 10**4000}, 422, "from 0 to 1,000"),
        ("/rank", {"query": "a", "k": 101, "explain": True}, 422, "from 0 to 100, not 101"),
        ("/rank", {"query": "a", "explain": "yes"}, 422, "'explain' must be true or false"),
        ("/rank", {"query": "a", "pipeline": "none"}, 404, "unknown pipeline 'none'; the bundle"),
        ("/rank", {"query": "a", "pipeline": [{}]}, 422, "'pipeline' must be a string, not a list"),
        ("/explain", {"query": "a"}, 422, "'id' is missing"),
        ("/explain", {"query": "a", "id": "no such"}, 404, "unknown document id 'no such'"),
        ("/rerank", {"query": "a"}, 422, "'documents' must be a list of at least one document"),
        ("/rerank", {"query": "a", "documents": []}, 422, "not an empty list"),
        ("/rerank", {"query": "a", "documents": "b"}, 422, "not a string"),
        ("/rerank", {"query": "a", "documents": ["b", 3]}, 422, "documents[1] must be a string"),
        ("/rerank", {"query": "a", "documents": [{"txt": "b"}]}, 422, "documents[0] must be"),
        (
            "/rerank",
            {"query": "a", "documents": [{"text": "b", "id": 1.5}]},
            422,
            "documents[0] must be",
        ),
        ("/rerank", {"query": "a", "documents": ["b"], "texts": ["b"]}, 422, "not both"),
        ("/rerank", {"query": "a", "documents": ["b"], "top_n": 0}, 422, "'top_n' must be from 1"),
        ("/rerank", {"query": "a", "texts": ["b"], "truncation_direction": "Left"}, 422, "'Left'"),
        ("/rank", {"query": "a", "top_k": 3}, 422, "unknown field 'top_k' (did you mean 'k'?)"),
        ("/rank", {"query": "a", "filter": {"year": 2020}}, 422, "is called 'where'"),
        ("/explain", {"query": "a", "id": "b", "k": 3}, 422, "unknown field 'k'"),
        ("/rerank", {"query": "a", "documents": ["b"], "k": 3}, 422, "unknown field 'k'"),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "rank_fields": ["x"]}, 422, "not supp"),
        (
            "/v2/rerank",
            {"query": "a", "documents": ["b"], "max_tokens_per_doc": 9},
            422,
            "not supp",
        ),
        ("/rerank", {"query": "a", "documents": ["b"] * 1001}, 413, "1,001 documents"),
        ("/rerank", {"query": "a", "texts": ["b" * 2_000_001]}, 413, "2,000,001 characters"),
    ],
)
def test_a_wrong_field_is_refused_with_its_reason(
    bundle: Bundle, path: str, body: Any, status: int, message: str
) -> None:
    actual, error = refused(bundle, path, body)
    assert actual == status
    assert message in error


def count_megabytes(answer: Answer) -> int:
    return len(json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rank", {"query": "dough"}),
        ("/rank", {"query": "the dough", "documents": ["dough, dough; " * 500]}),
        ("/rank", {"query": "dough", "documents": ["dough " * 500], "highlight": True}),
        ("/rank", {"query": "dough", "documents": ["dough"] * 50, "k": 50, "explain": True}),
        ("/explain", {"query": " ".join(TEXTS), "id": "bread"}),
        ("/rerank", {"query": "dough", "documents": ["dough " * 99] * 9, "return_documents": True}),
        ("/rerank", {"query": "dough", "texts": ["dough " * 99] * 9, "return_text": True}),
    ],
)
def test_an_answer_has_a_largest_size(bundle: Bundle, path: str, body: Any) -> None:
    whole = ANSWERS[path](bundle, body, LIMITS, None)
    size = count_megabytes(whole)
    fits = ANSWERS[path](bundle, body, replace(LIMITS, answer_bytes=size), None)
    assert json.dumps(fits.body)[:20] == json.dumps(whole.body)[:20]
    status, message = refused(bundle, path, body, replace(LIMITS, answer_bytes=size // 8))
    assert status == 413
    assert f"more than {size // 8:,} bytes; ask for fewer hits (k or top_n)" in message


def test_a_bundle_without_a_collection_reranks_and_says_what_it_lacks(built: Built) -> None:
    models_only = Bundle(built.exported)
    for path, body in (("/rank", {"query": "a"}), ("/explain", {"query": "a", "id": "b"})):
        status, message = refused(models_only, path, body)
        assert status == 422
        assert "no collection" in message


def test_hits_are_filtered_grouped_and_shown_with_metadata(described: Described) -> None:
    request: dict[str, Any] = {"query": " ".join(WORDS), "where": {"due": {">=": "2024-02-28"}}}
    answer = rank(described.bundle, {**request, "k": 100}, LIMITS).body
    assert isinstance(answer, dict)
    wanted = described.bundle.rank(request["query"], k=100, where=request["where"])
    assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in wanted]
    assert answer["hits"][0]["metadata"] == wanted[0].to_dict()["metadata"]
    assert type(answer["hits"][0]["metadata"]["due"]) is str
    for typed in ("due>=2024-02-28", ["due>=2024-02-28"]):
        same = rank(described.bundle, {**request, "where": typed, "k": 100}, LIMITS).body
        assert cast(dict[str, Any], same)["hits"] == answer["hits"]
    page = rank(described.bundle, {**request, "k": 2, "offset": 3}, LIMITS).body
    assert isinstance(page, dict)
    assert page["hits"] == answer["hits"][3:5]
    grouped = {**request, "group_by": "category", "group_size": 2, "k": 3, "min_score": 0}
    found = rank(described.bundle, grouped, LIMITS).body
    assert isinstance(found, dict)
    expected = described.bundle.rank(
        request["query"], k=3, where=request["where"], group_by="category", group_size=2
    )
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in expected]
    plain = rank(described.bundle, {**request, "return_documents": False}, LIMITS).body
    assert isinstance(plain, dict)
    assert set(plain["hits"][0]) == {"id", "score", "index"}
    assert info(described.bundle, LIMITS)["metadata"]["tags"] == "list"


def test_facets_and_an_order_are_answered_as_plain_values(described: Described) -> None:
    facets = {"open": None, "due": {"ranges": [["2024-02-28", None]], "missing": True}}
    request: dict[str, Any] = {
        "query": " ".join(WORDS),
        "k": 2,
        "facets": facets,
        "sort": ["-due", "score"],
    }
    found = rank(described.bundle, request, LIMITS).body
    wanted = described.bundle.rank(request["query"], k=2, facets=facets, sort=["-due", "score"])
    assert isinstance(found, dict)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in wanted]
    assert (found["total"], found["exact"]) == (wanted.total, True) == (48, True)
    due = [row.get("due") for row in described.rows]
    late = sum(each is not None and each.isoformat() >= "2024-02-28" for each in due)
    assert found["facets"]["due"] == [
        {"value": ["2024-02-28", None], "count": late},
        {"value": None, "count": due.count(None)},
    ]
    opened = [row.get("open") for row in described.rows]
    assert {each["value"]: each["count"] for each in found["facets"]["open"]} == {
        value: opened.count(value) for value in (True, False)
    }
    assert found["facets"] == wanted.to_dict()["facets"]
    only = rank(described.bundle, request | {"facets": [], "sort": None}, LIMITS).body
    assert isinstance(only, dict)
    assert (only["total"], "facets" in only) == (48, False)
    assert "total" not in rank(described.bundle, {"query": "dough"}, LIMITS).body


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"facets": ["a"] * 3}, 422, "'facets' names 3 fields; at most 2 are allowed"),
        ({"facets": {"year": {"top": 6}}}, 422, "'year' has 6 values; at most 5"),
        ({"facets": {"year": {"ranges": [[1, 2]] * 6}}}, 422, "'year' has 6 values; at most 5"),
        ({"facets": {"year": {"top": "6"}}}, 422, "top must be a whole number"),
        ({"facets": "year"}, 422, "'facets' must be a list of fields, or an object"),
        ({"facets": ["yaer"]}, 422, "facets: unknown field 'yaer'"),
        ({"sort": ["a"] * 9}, 413, "'sort' has 9 texts; at most 8"),
        ({"sort": []}, 422, "sort must be a list such as"),
        ({"sort": [1]}, 422, "'sort[0]' must be a string, not a number"),
        ({"sort": ["year"], "documents": ["a"]}, 422, "texts of your own have no metadata"),
    ],
)
def test_what_is_counted_or_sorted_by_is_bounded(
    described: Described, more: dict[str, Any], status: int, message: str
) -> None:
    limits = Limits(facets=2, facet_values=5)
    found, text = refused(described.bundle, "/rank", {"query": "dough", **more}, limits)
    assert (found, message in text) == (status, True), text


SIGNS = '"rising dough" knea* -wheat'


@pytest.mark.parametrize(
    ("flags", "query"),
    [
        ({}, SIGNS),
        ({"syntax": False, "typos": None}, SIGNS),
        ({"syntax": True}, Query.parse(SIGNS)),
        ({"typos": True}, Query(SIGNS, typos=True)),
        ({"syntax": True, "typos": True}, Query.parse(SIGNS, typos=True)),
    ],
)
def test_signs_mean_what_they_mean_to_the_runtime(
    bundle: Bundle, flags: dict[str, Any], query: str | Query
) -> None:
    body = rank(bundle, {"query": SIGNS, "k": 100, **flags}, LIMITS).body
    wanted = bundle.rank(query, k=100)
    assert isinstance(body, dict)
    assert [(hit["id"], hit["score"]) for hit in body["hits"]] == [
        (hit.id, hit.score) for hit in wanted
    ]
    assert body["query"] == wanted.query


def test_corrections_are_in_the_answer(bundle: Bundle) -> None:
    request = {"query": "rising duogh", "typos": True, "k": 3}
    body = rank(bundle, request, LIMITS).body
    wanted = bundle.rank("rising dough", k=3)
    assert isinstance(body, dict)
    assert body["corrections"] == {"duogh": "dough"}
    assert body["query"] == "rising dough"
    assert [(hit["id"], hit["score"]) for hit in body["hits"]] == [
        (hit.id, hit.score) for hit in wanted
    ]
    for plain in ({**request, "typos": False}, {**request, "query": "rising dough"}):
        unchanged = rank(bundle, plain, LIMITS).body
        assert isinstance(unchanged, dict)
        assert "corrections" not in unchanged
        assert unchanged["query"] == plain["query"]


def answered(bundle: Bundle, query: str) -> dict[str, object]:
    body = rank(bundle, {"query": query, "k": 1}, LIMITS).body
    assert isinstance(body, dict)
    return body


def test_hits_that_there_is_no_time_to_explain_or_highlight_come_back_without(
    bundle: Bundle,
) -> None:
    asked = {"query": "dough bread water", "k": 3, "explain": True, "highlight": True}
    body = rank(bundle, asked, LIMITS, 0.0).body
    assert isinstance(body, dict)
    assert [("explanation" in hit, "highlights" in hit) for hit in body["hits"]] == [
        (True, True),
        (False, False),
        (False, False),
    ]
    assert body["budget_spent"]
    assert body["left_out"][-2:] == ["explain 2 of 3 hits", "highlight 2 of 3 hits"]


def test_only_so_many_characters_are_highlighted(bundle: Bundle) -> None:
    asked = {"query": "dough bread water", "k": 3, "highlight": True}
    body = rank(bundle, asked, replace(LIMITS, characters=1), 1e6).body
    assert isinstance(body, dict)
    assert ["highlights" in hit for hit in body["hits"]] == [True, False, False]
    assert body["left_out"] == ["highlight 2 of 3 hits"]


def test_vectors_are_the_runtimes_in_the_forms_of_openai_and_tei(tiny: TinyRankers) -> None:
    bundle = load(tiny.exported("dense"), device="cpu")
    wanted = bundle.encode_document(TEXTS)
    for form in ("float", "base64"):
        body = {"input": TEXTS, "encoding_format": form, "user": "me"}
        reply: Any = ANSWERS["/v1/embeddings"](bundle, body, LIMITS, None).body
        found = [each["embedding"] for each in reply["data"]]
        if form == "base64":
            found = [np.frombuffer(b64decode(each), "<f4") for each in found]
        np.testing.assert_allclose(found, wanted, atol=1e-7)
        assert reply["model"] == models(bundle)["data"][0]["id"]
    query = bundle.encode_query("dough")
    body = {"input": "dough", "input_type": "query"}
    asked: Any = ANSWERS["/v1/embeddings"](bundle, body, LIMITS, None).body
    np.testing.assert_allclose(asked["data"][0]["embedding"], query, atol=1e-7)
    plain: Any = ANSWERS["/embed"](bundle, {"inputs": TEXTS, "normalize": False}, LIMITS, None).body
    np.testing.assert_allclose(plain, wanted, atol=1e-7)
    (unit,) = ANSWERS["/embed"](bundle, {"inputs": TEXTS[0]}, LIMITS, None).body
    assert np.linalg.norm(unit) == pytest.approx(1)
    sparse = load(tiny.exported("epic"), device="cpu")
    rows: Any = ANSWERS["/embed_sparse"](sparse, {"inputs": TEXTS}, LIMITS, None).body
    for row, vector in zip(rows, sparse.encode_document(TEXTS), strict=True):
        assert [each["index"] for each in row] == vector.terms.tolist()
        assert [each["value"] for each in row] == pytest.approx(
            vector.weights.tolist(), abs=10**-DIGITS
        )


def test_what_cannot_be_encoded_is_refused(tiny: TinyRankers, bundle: Bundle) -> None:
    dense = load(tiny.exported("dense"), device="cpu")
    few, small = replace(LIMITS, documents=2, characters=30), replace(LIMITS, answer_bytes=50)
    for body, limits, status, message in (
        ({}, LIMITS, 422, "'input' is missing"),
        ({"input": []}, LIMITS, 422, "not an empty list"),
        ({"input": [[1, 2]]}, LIMITS, 422, r"'input[0]' must be a string, not a list"),
        ({"input": ["a"] * 3}, few, 413, "3 texts; at most 2"),
        ({"input": "a" * 31}, few, 413, "31 characters; at most 30"),
        ({"input": "a"}, small, 413, "send fewer texts"),
        ({"input": "a", "model": "gpt"}, LIMITS, 404, "unknown ranker 'gpt'"),
        ({"input": "a", "dimensions": 4}, LIMITS, 422, "a Matryoshka model is cut when it is"),
        ({"input": "a", "dimensions": 0}, LIMITS, 422, "'dimensions' must be from 1"),
        ({"input": "a", "input_type": "other"}, LIMITS, 422, "must be 'document'"),
    ):
        found, said = refused(dense, "/v1/embeddings", body, limits)
        assert (found, message in said) == (status, True), said
    long = {"inputs": "water " * 400, "truncate": False}
    assert refused(dense, "/embed", long)[0] == 413
    assert "is no sparse encoder" in refused(dense, "/embed_sparse", {"inputs": "a"})[1]
    late, sparse = (load(tiny.exported(kind), device="cpu") for kind in ("colbert", "epic"))
    assert "does not return one vector per text" in refused(late, "/embed", {"inputs": "a"})[1]
    assert "ask /embed_sparse" in refused(sparse, "/embed", {"inputs": "a"})[1]
    assert refused(bundle, "/embed", {"inputs": "a"})[0] == 422
    assert "not supported" in refused(dense, "/embed", {"inputs": "a", "dimensions": 4})[1]
    texts = {"inputs": ["a"] * 100}
    with pytest.raises(OutOfTimeError):
        ANSWERS["/embed"](dense, texts, LIMITS, 0.0)


def test_texts_that_take_too_long_together_are_refused_with_how_many_fit(tiny: TinyRankers) -> None:
    dense, limits = load(tiny.exported("dense"), device="cpu"), Limits(encoded_characters=100)
    for path, name in (("/v1/embeddings", "input"), ("/embed", "inputs")):
        for texts, fit in ((["a" * 40] * 5, 2), (["a" * 500, "b"], 1), (["a", "b" * 100], 1)):
            status, said = refused(dense, path, {name: texts}, limits)
            assert status == 413
            assert f"its first {fit} texts fit, so send so many at a time" in said
            assert answer_of(dense, path, {name: texts[:fit]}, limits)
        assert answer_of(dense, path, {name: ["a" * 50] * 2}, limits)


def answer_of(bundle: Bundle, path: str, body: dict[str, Any], limits: Limits) -> Any:
    return ANSWERS[path](bundle, body, limits, None).body


def test_a_model_is_described_by_its_name(tiny: TinyRankers, bundle: Bundle) -> None:
    dense = load(tiny.exported("dense"), device="cpu")
    for each in models(dense)["data"]:
        assert model(dense, each["id"]) == each
    assert model(dense, "ranklet")["object"] == "model"
    for of, name in ((dense, "gpt"), (bundle, "ranklet")):
        with pytest.raises(RequestError, match=r"unknown model '(gpt|ranklet)'; ") as unknown:
            model(of, name)
        assert unknown.value.status == 404


def test_a_document_is_returned_whole(described: Described) -> None:
    name = described.rows[0]["id"]
    found = document(described.bundle, name)
    assert found["text"] == described.rows[0]["text"]
    assert found == described.bundle.document(name).to_dict()
    with pytest.raises(UnknownDocumentError):
        document(described.bundle.only({"year": -1}), name)


@pytest.mark.parametrize("text", ["dough bread " * 20_000, "C+" * 100_000, "漢字" * 50_000])
def test_a_long_text_is_read_no_longer_than_there_is_time(bundle: Bundle, text: str) -> None:
    with pytest.raises(OutOfTimeError, match="while a long text was read"):
        rank(bundle, {"query": "dough", "documents": [text]}, Limits(), 0.0)
