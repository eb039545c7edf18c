"""LlamaIndex's retriever and postprocessor give what the bundle does, in LlamaIndex's forms."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime import Bundle, InputError, UnknownRankerError, load
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.integrations.conftest import Imports

QUERY = "knead the dough, feed the starter, patch the tyre"


@pytest.fixture(scope="module")
def ours(imports: "Imports") -> Any:
    return imports("ranklet.integrations.llamaindex")


@pytest.fixture
def nodes(ours: Any) -> list[Any]:
    texts = (
        "Wash the windows with vinegar.",
        "Let the dough rise for an hour.",
        "Knead the dough.",
    )
    return [
        ours.NodeWithScore(
            node=ours.TextNode(text=text, id_=str(place), metadata={"place": place}), score=0.0
        )
        for place, text in enumerate(texts)
    ]


def as_pairs(found: list[Any]) -> list[tuple[str, float]]:
    return [(each.node.node_id, each.score) for each in found]


def test_the_retriever_returns_what_the_bundle_ranks(
    ours: Any, built: "Built", bundle: Bundle
) -> None:
    found = ours.RankletRetriever(str(built.fused), k=4, pipeline="bm25").retrieve(QUERY)
    hits = bundle.rank(QUERY, k=4, pipeline="bm25")
    assert as_pairs(found) == [(hit.id, hit.score) for hit in hits]
    assert [each.node.text for each in found] == [hit.text for hit in hits]
    assert [each.node.metadata["title"] for each in found] == [hit.title for hit in hits]


def test_a_language_model_reads_the_title_but_no_explanation(ours: Any, bundle: Bundle) -> None:
    (found,) = ours.RankletRetriever(bundle, k=1, explain=True).retrieve(QUERY)
    (hit,) = bundle.rank(QUERY, k=1, explain=True)
    assert hit.explanation is not None
    assert found.node.metadata["explanation"] == hit.explanation.to_dict()
    read = found.node.get_content(ours.MetadataMode.LLM)
    assert hit.title in read
    assert "explanation" not in read


def test_a_budget_that_ended_early_is_reported(ours: Any, bundle: Bundle) -> None:
    found = ours.RankletRetriever(bundle, pipeline="linear", budget_ms=0).retrieve(QUERY)
    assert found[0].node.metadata["left_out"]


def test_errors_are_those_of_ranklet(
    ours: Any, bundle: Bundle, built: "Built", nodes: list[Any]
) -> None:
    for wrong, complaint in (
        ({"kk": 3}, "unknown option 'kk'"),
        ({"k": "three"}, "k is 'three'; it must be a whole number"),
        ({"budget_ms": -1}, "budget_ms is -1; it must be"),
    ):
        with pytest.raises(InputError, match=complaint):
            ours.RankletRetriever(bundle, **wrong)
        with pytest.raises(InputError, match=complaint):
            ours.RankletPostprocessor(bundle=bundle, **wrong)
    with pytest.raises(UnknownRankerError, match="unknown pipeline"):
        ours.RankletRetriever(bundle, pipeline="none")
    with pytest.raises(InputError, match="no collection"):
        ours.RankletRetriever(built.exported)
    with pytest.raises(InputError, match="give query_str= or query_bundle="):
        ours.RankletPostprocessor(bundle=bundle).postprocess_nodes(nodes)


def test_the_postprocessor_ranks_copies_and_keeps_their_metadata(
    ours: Any, bundle: Bundle, nodes: list[Any]
) -> None:
    before = [each.model_dump() for each in nodes]
    processor = ours.RankletPostprocessor(bundle=bundle, k=2, explain=True)
    found = processor.postprocess_nodes(nodes, query_str=QUERY)
    hits = bundle.rank(QUERY, [each.node.text for each in nodes], k=2, explain=True)
    assert as_pairs(found) == [(str(hit.index), hit.score) for hit in hits]
    assert [each.node.metadata["place"] for each in found] == [hit.index for hit in hits]
    assert all(each.node.metadata["explanation"]["value"] for each in found)
    assert "explanation" not in found[0].node.get_content(ours.MetadataMode.LLM)
    assert [each.model_dump() for each in nodes] == before
    assert processor.postprocess_nodes([], query_str=QUERY) == []


def test_a_postprocessor_is_stored_and_restored_as_json(
    ours: Any, built: "Built", nodes: list[Any]
) -> None:
    made = ours.RankletPostprocessor(bundle=Bundle(built.fused), k=2, pipeline="bm25")
    dumped = json.loads(json.dumps(made.model_dump()))
    assert dumped["bundle"] == str(built.fused)
    assert dumped["class_name"] == "RankletPostprocessor"
    expected = as_pairs(made.postprocess_nodes(nodes, query_str=QUERY))
    for again in (
        ours.RankletPostprocessor.model_validate(dumped),
        ours.RankletPostprocessor.from_dict(dumped),
    ):
        assert as_pairs(again.postprocess_nodes(nodes, query_str=QUERY)) == expected


def test_a_store_serves_an_index(ours: Any, tmp_path: Path) -> None:
    from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
    from llama_index.core.vector_stores.types import MetadataFilters

    path = Path(build([{"id": "a", "text": "Feed the starter.", "kind": "bread"}], tmp_path / "b"))
    store = ours.RankletVectorStore(path)
    index = VectorStoreIndex.from_documents(
        [
            Document(text="Patch the tyre.", doc_id="bikes", metadata={"kind": "repair"}),
            Document(text="Oil the chain.", doc_id="chains", metadata={"kind": "care"}),
        ],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=MockEmbedding(1),
    )
    (found,) = index.as_retriever().retrieve("tyre")
    assert (found.node.text, found.node.metadata["ref_doc_id"]) == ("Patch the tyre.", "bikes")
    assert found.score == load(path).rank("tyre")[0].score
    of_kind = MetadataFilters.from_dicts([{"key": "kind", "value": "care"}])
    assert index.as_retriever(filters=of_kind).retrieve("tyre") == []
    assert len(index.as_retriever(filters=of_kind).retrieve("chain")) == 1
    store.delete("bikes")
    assert index.as_retriever().retrieve("tyre") == []
    store.delete_nodes(filters=of_kind)
    assert len(load(path)) == 1
    with pytest.raises(InputError, match="has no filter 'text_match_insensitive'"):
        store.delete_nodes(
            filters=MetadataFilters.from_dicts(
                [{"key": "kind", "value": "care", "operator": "text_match_insensitive"}]
            )
        )


def test_sources_are_where_llamaindex_looks_for_them(ours: Any, long: Bundle) -> None:
    (found,) = ours.RankletRetriever(long, tokens=40).retrieve("knead dough")
    node = found.node
    assert node.ref_doc_id == "page=7/bread.md"
    assert (node.start_char_idx, node.end_char_idx) == (30, 30 + len(node.text))
    assert (node.metadata["page_label"], node.metadata["heading"]) == ("7", ["Dough"])
    assert "start" not in node.get_metadata_str(ours.MetadataMode.LLM)
