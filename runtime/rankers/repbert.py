"""RepBERT: one vector a text, the mean of BERT's last layer; inner product; dense retrieval.

Source: Zhan et al. 2020 (paper 004), §3.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.exact import ExactIndex
from ranklet.runtime.dense.hnsw import HNSWIndex, HNSWSettings
from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.onnx.encoder import Encoded, Encoder, open_encoder
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.protocol import Retrieved, Retriever, Scores
from ranklet.runtime.storage.checks import Settings, check_integer, check_one_of

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

# Names of the graph's inputs, (batch, tokens) int64, and of its output, (batch, dimension) float32.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "sentence_embedding"
QUERY_SEGMENT, DOCUMENT_SEGMENT = 0, 1  # token_type_ids (paper 004, §4.1)

# The files of the kind, in rankers/NAME/, beside the graph's variants and its tokenizer.
VECTORS = "vectors.npy"  # of all documents, (documents, dimension) float32
GRAPH = "hnsw.bin"  # hnswlib's index, where `search` is hnsw
SEARCHES = ("exact", "hnsw")


@dataclass(frozen=True)
class RepBERTSettings(Settings):
    """What a RepBERT encoder and its index are made of.

    Attributes:
        max_query_tokens: longer queries are cut, [CLS] and [SEP] counted (paper 004: 20).
        max_document_tokens: longer documents are cut, [CLS] and [SEP] counted (paper 004: 256).
        dimension: of the vectors.
        search: ``exact``, or ``hnsw``, which is approximate and faster from some 50,000 documents.
        m: HNSW: links of a vector on each layer.
        ef_construction: HNSW: candidates while building.
        ef: HNSW: candidates while searching.
    """

    max_query_tokens: int = 20
    max_document_tokens: int = 256
    dimension: int = 384
    search: str = "exact"
    m: int = 16
    ef_construction: int = 200
    ef: int = 128

    def __post_init__(self) -> None:
        """Check every value."""
        check_integer("max_query_tokens", self.max_query_tokens, 3, 8192)
        check_integer("max_document_tokens", self.max_document_tokens, 3, 8192)
        check_integer("dimension", self.dimension, 1, 1 << 16)
        check_integer("m", self.m, 2, 1024)
        check_integer("ef_construction", self.ef_construction, 1, 1 << 16)
        check_integer("ef", self.ef, 1, 1 << 16)
        check_one_of("search", self.search, SEARCHES)


class RepBERTEncoder:
    """Makes vectors of queries and documents.

    Args:
        settings: the limits.
        encoder: of both.
    """

    def __init__(self, settings: RepBERTSettings, encoder: Encoder) -> None:
        self.settings, self.encoder = settings, encoder

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str, *, many: bool = False) -> "RepBERTEncoder":
        """Open the encoder of a bundle's ranker.

        Args:
            bundle: with the ranker.
            name: of the ranker.
            many: whether it is to encode many texts at a time, and not a query now and then.
        """
        settings = RepBERTSettings.from_json(
            bundle.manifest.rankers[name].settings, f"rankers.{name}"
        )
        folder = f"rankers/{name}/"
        return cls(settings, open_encoder(bundle, folder, OUTPUT, settings.dimension, many=many))

    def encode_queries(self, texts: list[str]) -> Encoded:
        """Return vectors of queries, (texts, dimension) float32."""
        return self.encoder.encode(texts, self.settings.max_query_tokens, QUERY_SEGMENT)

    def encode_documents(self, texts: list[str]) -> Encoded:
        """Return vectors of documents, (texts, dimension) float32."""
        return self.encoder.encode(texts, self.settings.max_document_tokens, DOCUMENT_SEGMENT)

    @property
    def digest(self) -> str:
        """A text that changes whenever the vectors would: the model's digest and the limit."""
        return f"{self.encoder.digest} {self.settings.max_document_tokens}"


class RepBERT(Retriever):
    """Inner product of the query's and the document's vectors.

    Args:
        encoder: makes the vectors of queries, and of the caller's texts.
        bundle: holds the vectors of the collection.
        name: of the ranker in the bundle.
    """

    encodes_queries = True

    def __init__(self, encoder: RepBERTEncoder, bundle: "BundleFiles", name: str) -> None:
        self.encoder, self.settings = encoder, encoder.settings
        self._bundle, self._name, self._folder = bundle, name, f"rankers/{name}/"

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "RepBERT":
        """Open the ranker `name` of a bundle; its index is opened when it is first searched."""
        return cls(RepBERTEncoder.open(bundle, name), bundle, name)

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the encoder runs on."""
        return self.encoder.encoder.session.provider

    def encode_query(self, query: QueryContext) -> NDArray[np.float32]:
        """Return the query's vector, (dimension,) float32; computed once per query."""
        vector: NDArray[np.float32] = self._encoded(query).vectors[0]
        return vector

    def _encoded(self, query: QueryContext) -> Encoded:
        return query.once(id(self), lambda: self.encoder.encode_queries([query.text]))

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The documents' vectors, mapped, (documents, dimension) float32."""
        self._bundle.need_collection()
        shape = (self._bundle.manifest.documents, self.settings.dimension)
        vectors: NDArray[np.float32] = self._bundle.array(self._folder + VECTORS, np.float32, shape)
        return vectors

    @cached_property
    def index(self) -> ExactIndex | HNSWIndex:
        """What is searched."""
        if self.settings.search == "exact":
            return ExactIndex(self.vectors)
        hnsw = HNSWSettings(self.settings.m, self.settings.ef_construction, self.settings.ef)
        graph = self._bundle.file(self._folder + GRAPH)
        return HNSWIndex(graph, len(self.vectors), self.settings.dimension, hnsw)

    def retrieve(self, query: QueryContext, k: int) -> Retrieved:
        """Return the k documents with the largest inner product; k nearest, all have a score."""
        vectors, truncated = self._encoded(query)
        return Retrieved(*self.index.search(vectors[0], k), bool(truncated))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the inner product with each candidate."""
        if candidates.stored is not None:
            documents = Encoded(self.vectors[candidates.stored], [])
        else:
            documents = self.encoder.encode_documents(list(candidates.texts))
        queries, query_truncated = self._encoded(query)
        # einsum sums each row alike, however many there are; a matrix product does not.
        products = np.einsum("nd,d->n", documents.vectors, queries[0])
        return Scores(np.asarray(products), documents.cut, bool(query_truncated))

    def scale(self, query: QueryContext) -> float:  # noqa: ARG002
        """Return 1: inner products of one encoder are comparable as they are."""
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score: one inner product, which has no parts by token."""
        return Explanation(
            "inner product of the vectors", float(self.score(query, candidate).values[0])
        )

    def verify(self) -> None:
        """Check every vector, and that the index can be read; BundleError names the fault."""
        if not np.isfinite(self.vectors).all():
            raise BundleError(f"{self._name}: a document's vector is not finite")
        self.index.search(self.vectors[0], 1)


RANKER = RepBERT
SETTINGS = RepBERTSettings
