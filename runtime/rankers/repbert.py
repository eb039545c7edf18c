"""RepBERT: one vector per text, the mean of BERT's last layer, retrieves by inner product.

Source: Zhan et al. 2020 (paper 004), §3.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.exact import ExactIndex
from ranklet.runtime.dense.hnsw import HNSWIndex
from ranklet.runtime.errors import BundleError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.onnx.encoder import Encoded, Encoder, open_encoder
from ranklet.runtime.options import check_options, integer, one_of
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.protocol import Retrieved, Retriever, Scores
from ranklet.runtime.storage.checks import Settings

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

# Names of the graph's inputs, (batch, tokens) int64, and of its output, (batch, dimension) float32.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "sentence_embedding"
QUERY_SEGMENT, DOCUMENT_SEGMENT = 0, 1  # token_type_ids (paper 004, §4.1)

# The files of the kind in rankers/NAME/, in addition to the graph's variants and its tokenizer.
VECTORS = "vectors.npy"  # of all documents, (documents, dimension) float32
GRAPH = "hnsw.bin"  # hnswlib's index, if `search` is hnsw
EXHAUSTIVE = "exhaustive"  # exact search at any size; indexing replaces "exact" if there are many
SEARCHES = ("exact", "hnsw", EXHAUSTIVE)


@dataclass(frozen=True)
class RepBERTSettings(Settings):
    """The settings of a RepBERT encoder and its index; a token limit counts [CLS] and [SEP]."""

    max_query_tokens: int = integer(20, "tokens read of a query (paper 004)", 3, 8192)
    max_document_tokens: int = integer(256, "tokens read of a document (paper 004)", 3, 8192)
    dimension: int = integer(384, "dimension of the vectors", 1, 1 << 16)
    search: str = one_of("exact", SEARCHES, "how to search the vectors")
    m: int = integer(16, "HNSW: links per vector on each layer", 2, 1024)
    ef_construction: int = integer(200, "HNSW: candidates while building", 1, 1 << 16)
    ef: int = integer(128, "HNSW: candidates while searching", 1, 1 << 16)

    def __post_init__(self) -> None:
        check_options(self)


class RepBERTEncoder:
    """Encodes queries and documents as vectors."""

    def __init__(self, settings: RepBERTSettings, encoder: Encoder) -> None:
        self.settings, self.encoder = settings, encoder

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str, *, many: bool = False) -> "RepBERTEncoder":
        """Open the encoder of a bundle's ranker; see `Session` for `many`."""
        settings: RepBERTSettings = bundle.settings(name)
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
    """Inner product of the vectors of a query and a document.

    Args:
        encoder: encodes queries and the caller's texts.
        bundle: the bundle with the vectors of the collection.
        name: the ranker's name in the bundle.
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
        """Return the query's vector, (dimension,) float32, which is computed once per query."""
        vector: NDArray[np.float32] = self._encoded(query).vectors[0]
        return vector

    def _encoded(self, query: QueryContext) -> Encoded:
        return query.once(id(self), lambda: self.encoder.encode_queries([query.text]))

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The mapped vectors of all documents, (documents, dimension) float32."""
        self._bundle.need_collection()
        shape = (self._bundle.manifest.documents, self.settings.dimension)
        vectors: NDArray[np.float32] = self._bundle.array(self._folder + VECTORS, np.float32, shape)
        return vectors

    @cached_property
    def index(self) -> ExactIndex | HNSWIndex:
        """The index that is searched."""
        if self.settings.search != "hnsw":
            return ExactIndex(self.vectors)
        graph = self._bundle.file(self._folder + GRAPH)
        return HNSWIndex(graph, len(self.vectors), self.settings.dimension, ef=self.settings.ef)

    def retrieve(self, query: QueryContext, k: int) -> Retrieved:
        """Return the k documents with the largest inner product; every document has a score."""
        vectors, truncated = self._encoded(query)
        return Retrieved(*self.index.search(vectors[0], k), bool(truncated))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the inner product with each candidate."""
        if candidates.stored is not None:
            documents = Encoded(self.vectors[candidates.stored], [])
        else:
            documents = self.encoder.encode_documents(list(candidates.texts))
        queries, query_truncated = self._encoded(query)
        # einsum sums every row in the same way, whatever their number. A matrix product does not.
        products = np.einsum("nd,d->n", documents.vectors, queries[0])
        return Scores(np.asarray(products), documents.cut, bool(query_truncated))

    def scale(self, query: QueryContext) -> float:  # noqa: ARG002
        """Return 1, because inner products of one encoder are comparable as they are."""
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score as one inner product, which has no parts by token."""
        value = float(self.score(query, candidate).values[0])
        return Explanation("inner product of the vectors", value)

    def verify(self) -> None:
        """Check every vector and search the index; raise BundleError at the first fault."""
        if not np.isfinite(self.vectors).all():
            raise BundleError(f"{self._name}: a document's vector is not finite")
        self.index.search(self.vectors[0], 1)


RANKER = RepBERT
SETTINGS = RepBERTSettings
