"""LlamaIndex: a retriever over a bundle, and a postprocessor that ranks other retrievers' nodes.

>>> from ranklet.integrations.llamaindex import RankletRetriever
>>> RankletRetriever("search.ranklet", k=5).retrieve("knead dough")  # doctest: +SKIP

Both need the extra ``[llamaindex]``.
"""

from collections.abc import Sequence
from typing import Any

from ranklet.integrations.search import check, computed, own_text, rank, rank_async, stored
from ranklet.runtime import InputError, Ranking
from ranklet.runtime.extras import hinted
from ranklet.runtime.pipeline import PipelineLike
from ranklet.runtime.storage.address import BundleLike

with hinted():
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

    from ranklet.integrations.component import Component

# A node's metadata becomes part of the text that language models and encoders read. These would
# only cost them room.
NOT_TO_BE_READ = ("passage", "explanation", "left_out")


class RankletRetriever(BaseRetriever):
    """Retrieve from the collection of a bundle.

    A node has the id and the text of a hit, its score, and as metadata the fields of the stored
    document and ``title``. It also has ``passage`` if its document is split, ``explanation`` if it
    was requested, and ``left_out`` if the budget ended early. These names take precedence over
    fields of the same names. Language models do not read the last three.

    Args:
        bundle: a bundle or its path.
        k: maximum number of nodes.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        explain: whether to explain every score.
        budget_ms: milliseconds after which no further stage begins; None for no limit.
        callback_manager: LlamaIndex's; None for its own.
        options: any further keyword of `Bundle.rank`.

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
        return _retrieved(rank(self.bundle, query_bundle.query_str, self.options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _retrieved(await rank_async(self.bundle, query_bundle.query_str, self.options))


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


def _retrieved(ranking: Ranking) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=hit.id,
                text=hit.text,
                metadata={**stored(hit), **computed(hit, ranking)},
                excluded_llm_metadata_keys=list(NOT_TO_BE_READ),
                excluded_embed_metadata_keys=list(NOT_TO_BE_READ),
            ),
            score=hit.score,
        )
        for hit in ranking
    ]


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
