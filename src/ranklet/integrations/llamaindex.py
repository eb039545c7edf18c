"""LlamaIndex: a retriever over a bundle, a store, and a postprocessor of other retrievers' nodes.

>>> from ranklet.integrations.llamaindex import RankletRetriever
>>> RankletRetriever("search.ranklet", k=5).retrieve("knead dough")  # doctest: +SKIP

All need the extra ``[llamaindex]``.
"""

from collections.abc import Sequence
from typing import Any

from ranklet.integrations import stores as writing
from ranklet.integrations.search import (
    Found,
    check,
    computed,
    own_text,
    rank,
    retrieve,
    retrieve_async,
)
from ranklet.runtime import Bundle, InputError, Ranking
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.runtime.storage.address import BundleLike

with hint_packages():
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryResult,
    )

    from ranklet.integrations.component import Component

# LlamaIndex's names of operators, and those of filters by metadata.
OPERATORS = {
    **{name: name for name in ("==", "!=", ">", "<", ">=", "<=", "in")},
    "nin": "not in", "any": "has any", "all": "has all", "contains": "has", "is_empty": "missing",
    "text_match": "contains",
}  # fmt: skip
# A node's metadata becomes part of the text that language models and encoders read. These would
# only cost them room.
NOT_TO_BE_READ = (
    "passage", "explanation", "left_out", "start", "end", "document", "relevance", "spans",
)  # fmt: skip


class RankletRetriever(BaseRetriever):
    """Retrieve from the collection of a bundle.

    A node has the id and the text of a hit, its score, its document as source, where it stands in
    this, and as metadata the fields of the stored document, ``title`` and ``page_label``. It also
    has ``passage`` and perhaps ``heading`` if its document is split, ``explanation`` if it was
    requested, and ``left_out`` if the budget ended early. These names take precedence over fields
    of the same names. Language models read of all these only titles, headings and pages.

    With ``tokens`` the nodes are the parts that `Bundle.context` returns, at most k of them.

    Args:
        bundle: a bundle or its path.
        k: maximum number of nodes.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        callback_manager: LlamaIndex's; None for its own.
        options: ``tokens``, any further keyword of `Bundle.rank`, or with tokens of
            `Bundle.context`.

    Raises:
        InputError: an option is unknown or invalid, or the bundle has no collection.
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self,
        bundle: BundleLike,
        k: int = 10,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
        *,
        callback_manager: Any = None,
        **options: Any,
    ) -> None:
        self.bundle = bundle
        self.options = {
            "k": k, "pipeline": pipeline, "explain": explain, "budget_ms": budget_ms, **options
        }  # fmt: skip
        check(bundle, self.options, retrieves=True)
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _retrieved(retrieve(self.bundle, query_bundle.query_str, self.options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await retrieve_async(self.bundle, query_bundle.query_str, self.options)
        return _retrieved(found)


class RankletVectorStore(BasePydanticVectorStore):
    """A bundle as a vector store: its nodes are searched by their texts, added and deleted.

    The bundle encodes texts itself, so the index may have ``MockEmbedding(1)``. Metadata become
    fields to filter by, and ``ref_doc_id`` is one of them.

    Args:
        bundle: a bundle on disk, or its path.
        options: keywords of `Bundle.rank` for all queries.

    Raises:
        RankletError: as `RankletRetriever`.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    _bundle: Any = PrivateAttr()
    _options: dict[str, Any] = PrivateAttr()

    def __init__(self, bundle: BundleLike, **options: Any) -> None:
        check(bundle, {"k": 1, **options}, retrieves=True)
        super().__init__(stores_text=True, is_embedding_query=False)
        self._bundle = bundle.path if isinstance(bundle, Bundle) else bundle
        self._options = options

    @property
    def client(self) -> Any:
        """The path of the bundle."""
        return self._bundle

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Add nodes, or replace those with the same ids; return the ids.

        Raises:
            RankletError: a node cannot be used; nothing is added then.
        """
        return writing.add(self._bundle, [_document(*each) for each in enumerate(nodes)])

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document."""
        writing.delete(self._bundle, where={"ref_doc_id": ref_doc_id})

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> None:
        """Delete nodes by their ids and by a filter."""
        writing.delete(self._bundle, node_ids or (), _where(filters))

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return the nodes that rank highest for the query's text.

        Raises:
            InputError: the query has no text, or a filter that a bundle does not have.
        """
        if not query.query_str:
            raise InputError("a bundle is searched by a text; give query_str=")
        options = {**self._options, "k": query.similarity_top_k}
        if (where := _where(query.filters)) is not None:
            options["where"] = where
        found = _retrieved(retrieve(self._bundle, query.query_str, options))
        return VectorStoreQueryResult(
            nodes=[each.node for each in found],
            similarities=[each.score or 0.0 for each in found],
            ids=[each.node.node_id for each in found],
        )


class RankletPostprocessor(BaseNodePostprocessor, Component):
    """Rank the nodes of another retriever again, and keep the best.

    It returns new nodes with the metadata of the given ones, and with ``explanation`` and
    ``left_out`` as `RankletRetriever` has. A ``title`` in the metadata is ranked with the text.

    Args:
        bundle: a bundle or its path; it needs no collection.
        k: maximum number of nodes; None keeps all.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        values: any further keyword of `Bundle.rank`, and fields of LlamaIndex.

    Raises:
        RankletError: as `RankletRetriever`, but a bundle without a collection is enough.
    """

    def __init__(self, **values: Any) -> None:
        values.pop("class_name", None)  # a stored component has it
        super().__init__(**values)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that a stored component has."""
        return "RankletPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = _query(query_bundle)
        return _ranked(nodes, rank(self.bundle, query, self.options, _texts(nodes)))


def _query(query_bundle: QueryBundle | None) -> str:
    if query_bundle is None:
        raise InputError("nodes are ranked for a query; give query_str= or query_bundle=")
    text: str = query_bundle.query_str
    return text


def _document(place: int, node: BaseNode) -> dict[str, Any]:
    text = own_text(node.get_content(MetadataMode.NONE), {}, place)["text"]
    metadata = dict(node.metadata)
    if node.ref_doc_id:
        metadata["ref_doc_id"] = node.ref_doc_id
    return writing.document(node.node_id, text, metadata, place)


def _where(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """Return LlamaIndex's filters as those of `Bundle.rank`."""
    if filters is None:
        return None
    parts = [_condition(each) for each in filters.filters]
    how = filters.condition.value if filters.condition else "and"
    return {"not": {"or": parts}} if how == "not" else {how: parts}


def _condition(each: "MetadataFilter | MetadataFilters") -> dict[str, Any]:
    if not isinstance(each, MetadataFilter):
        return _where(each) or {}
    name = each.operator.value
    if name not in OPERATORS:
        raise InputError(f"a bundle has no filter {name!r}; it has {', '.join(OPERATORS)}")
    operator = OPERATORS[name]
    return {each.key: {operator: True if name == "is_empty" else each.value}}


def _retrieved(found: Sequence[Found]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=each.id,
                text=each.text,
                metadata={**each.metadata, **_page(each)},
                start_char_idx=each.start,
                end_char_idx=each.end,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=each.document)},
                excluded_llm_metadata_keys=list(NOT_TO_BE_READ),
                excluded_embed_metadata_keys=list(NOT_TO_BE_READ),
            ),
            score=each.score,
        )
        for each in found
    ]


def _page(each: Found) -> dict[str, str]:
    """Return the page as LlamaIndex's readers name it."""
    return {} if each.page is None else {"page_label": str(each.page)}


def _texts(nodes: Sequence[NodeWithScore]) -> list[dict[str, str]]:
    return [
        own_text(each.node.get_content(MetadataMode.NONE), each.node.metadata, place)
        for place, each in enumerate(nodes)
    ]


def _ranked(nodes: Sequence[NodeWithScore], ranking: Ranking) -> list[NodeWithScore]:
    """Return copies of the ranked nodes; the caller's own stay as they are."""
    found = []
    for hit in ranking:
        node = nodes[hit.index].node
        changed: dict[str, Any] = {"metadata": {**node.metadata, **computed(hit, ranking)}}
        for keys in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
            changed[keys] = list(dict.fromkeys([*getattr(node, keys), *NOT_TO_BE_READ]))
        found.append(NodeWithScore(node=node.model_copy(update=changed), score=hit.score))
    return found
