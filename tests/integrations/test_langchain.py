"""LangChain's retriever and compressor give what the bundle does, in LangChain's forms."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime import Bundle, InputError, Pipeline, Retrieve, UnknownRankerError
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.integrations.conftest import Imports

QUERY = "knead the dough, feed the starter, patch the tyre"


@pytest.fixture(scope="module")
def ours(imports: "Imports") -> Any:
    return imports("ranklet.integrations.langchain")


@pytest.fixture
def documents(ours: Any) -> list[Any]:
    texts = (
        "Wash the windows with vinegar.",
        "Let the dough rise for an hour.",
        "Knead the dough.",
    )
    return [
        ours.Document(page_content=text, id=str(place), metadata={"place": place})
        for place, text in enumerate(texts)
    ]


def test_the_retriever_returns_what_the_bundle_ranks(ours: Any, bundle: Bundle) -> None:
    found = ours.RankletRetriever(bundle=bundle, k=4).invoke(QUERY)
    hits = bundle.rank(QUERY, k=4)
    assert [each.id for each in found] == [hit.id for hit in hits]
    assert [each.page_content for each in found] == [hit.text for hit in hits]
    assert [each.metadata["relevance_score"] for each in found] == [hit.score for hit in hits]
    assert [each.metadata["title"] for each in found] == [hit.title for hit in hits]


def test_options_hold_for_all_queries_or_for_one(ours: Any, built: "Built", bundle: Bundle) -> None:
    retriever = ours.RankletRetriever(bundle=str(built.fused), k=2, pipeline="bm25", explain=True)
    hits = bundle.rank(QUERY, k=2, pipeline="bm25", explain=True)
    found = retriever.invoke(QUERY)
    assert [each.metadata["relevance_score"] for each in found] == [hit.score for hit in hits]
    assert hits[0].explanation is not None
    assert found[0].metadata["explanation"] == hits[0].explanation.to_dict()
    assert len(retriever.invoke(QUERY, k=3)) == 3
    retriever.k = 1
    assert len(retriever.invoke(QUERY)) == 1
    hurried = retriever.invoke(QUERY, pipeline="linear", budget_ms=0)
    assert hurried[0].metadata["left_out"]


def test_errors_are_those_of_ranklet(ours: Any, bundle: Bundle, built: "Built") -> None:
    for wrong, complaint in (
        ({"kk": 3}, "unknown option 'kk'"),
        ({"k": "three"}, "k is 'three'; it must be a whole number"),
        ({"budget_ms": -1}, "budget_ms is -1; it must be"),
    ):
        with pytest.raises(InputError, match=complaint):
            ours.RankletRetriever(bundle=bundle, **wrong)
        with pytest.raises(InputError, match=complaint):
            ours.RankletCompressor(bundle=bundle, **wrong)
    with pytest.raises(UnknownRankerError, match="unknown pipeline"):
        ours.RankletRetriever(bundle=bundle, pipeline="none")
    with pytest.raises(InputError, match="no collection"):
        ours.RankletRetriever(bundle=built.exported)
    retriever = ours.RankletRetriever(bundle=bundle)
    with pytest.raises(InputError, match="unknown option 'kk'"):
        retriever.invoke(QUERY, kk=3)


def test_components_are_stored_and_restored_as_json(
    ours: Any, built: "Built", documents: list[Any]
) -> None:
    own = Pipeline((Retrieve("bm25", 5),))
    retriever = ours.RankletRetriever(bundle=Bundle(built.fused), k=2, pipeline=own)
    dumped = json.loads(json.dumps(retriever.model_dump()))
    assert dumped["bundle"] == str(built.fused)
    assert ours.RankletRetriever.model_validate(dumped).invoke(QUERY) == retriever.invoke(QUERY)
    compressor = ours.RankletCompressor(bundle=built.indexed, k=1, pipeline="bm25")
    again = ours.RankletCompressor.model_validate_json(compressor.model_dump_json())
    assert again.compress_documents(documents, QUERY) == compressor.compress_documents(
        documents, QUERY
    )


def test_the_compressor_ranks_copies_and_keeps_their_metadata(
    ours: Any, bundle: Bundle, documents: list[Any]
) -> None:
    before = [each.model_copy(deep=True) for each in documents]
    found = ours.RankletCompressor(bundle=bundle, k=2, explain=True).compress_documents(
        documents, QUERY
    )
    hits = bundle.rank(QUERY, [each.page_content for each in documents], k=2, explain=True)
    assert [each.metadata["place"] for each in found] == [hit.index for hit in hits]
    assert [each.metadata["relevance_score"] for each in found] == [hit.score for hit in hits]
    assert [each.id for each in found] == [str(hit.index) for hit in hits]
    assert all(each.metadata["explanation"]["value"] for each in found)
    assert documents == before
    assert list(ours.RankletCompressor(bundle=bundle).compress_documents([], QUERY)) == []


def test_a_title_in_the_metadata_is_ranked(ours: Any, bundle: Bundle) -> None:
    documents = [
        ours.Document(page_content="Wait an hour.", metadata={}),
        ours.Document(page_content="Wait an hour.", metadata={"title": "Let the dough rise"}),
    ]
    best = ours.RankletCompressor(bundle=bundle, k=1).compress_documents(documents, QUERY)[0]
    assert best.metadata["title"] == "Let the dough rise"


def test_a_store_adds_finds_replaces_and_deletes(ours: Any, tmp_path: Path) -> None:
    path = Path(build([{"id": "a", "text": "Feed the starter.", "kind": "bread"}], tmp_path / "b"))
    store = ours.RankletVectorStore(path)
    document = ours.Document(
        page_content="Patch the tyre.", metadata={"title": "Bikes", "kind": "repair"}
    )
    (id_,) = store.add_documents([document])
    (found,) = store.similarity_search("tyre", where={"kind": "repair"})
    assert (found.id, found.page_content) == (id_, document.page_content)
    assert found.metadata.items() >= document.metadata.items()
    assert store.add_texts(["Patch the tube."], [{"kind": "repair"}], ids=[id_]) == [id_]
    assert store.similarity_search("tyre") == []
    ((found, score),) = store.similarity_search_with_score("tube")
    assert (found.id, score > 0) == (id_, True)
    assert [each.page_content for each in store.get_by_ids([id_, "none"])] == ["Patch the tube."]
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("tube")[0].id == id_
    assert store.delete([id_, "none"])
    assert store.similarity_search("tube") == []
    other = ours.RankletVectorStore.from_texts(["Sour milk."], ids=["c"], bundle=path)
    assert [each.id for each in other.similarity_search("milk")] == ["c"]


def test_what_a_store_cannot_keep_is_refused(ours: Any, tmp_path: Path) -> None:
    store = ours.RankletVectorStore(build(["Feed the starter."], tmp_path / "b"))
    for call, complaint in (
        (lambda: store.add_texts(["a"], [{"id": 1}]), "has a field 'id'"),
        (lambda: store.add_texts(["a", "b"], [{}]), "2 texts, 1 metadatas"),
        (lambda: store.add_texts(["a"], id=["a"]), "unknown options id"),
        (store.delete, "ids are missing"),
        (lambda: ours.RankletVectorStore.from_texts(["a"], object(), bundle="b"), "embedding=None"),
    ):
        with pytest.raises(InputError, match=complaint):
            call()
    assert len(Bundle(store.bundle)) == 1


def test_sources_are_where_langchain_looks_for_them(ours: Any, long: Bundle) -> None:
    retriever = ours.RankletRetriever(bundle=long, tokens=40)
    (found,) = retriever.invoke("knead dough")
    metadata = found.metadata
    assert (metadata["source"], metadata["page"]) == ("page=7/bread.md", 7)
    assert metadata["start_index"] == metadata["start"] == 28 + 2
    assert metadata["heading"] == ["Dough"]
    assert ours.RankletRetriever.model_validate(retriever.model_dump()).tokens == 40
    (hit,) = ours.RankletRetriever(bundle=long).invoke("knead dough")
    assert hit.metadata["start_index"] == metadata["start_index"]
