"""Dense retrieval: one vector per text, and the inner product or the cosine of two vectors.

RepBERT (Zhan et al. 2020, §3) is the configuration with mean pooling, the inner product
and token_type_ids that tell documents from queries. A sentence encoder has others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import EncodesTexts, Retrieved, Retriever, Role, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.binary import WORD, BinaryIndex
from ranklet.runtime.dense.pooling import ADDITIVE, token_shares
from ranklet.runtime.dense.stored import FORMS, SIMILARITIES, WHOLE, ExactIndex, StoredVectors
from ranklet.runtime.ground.errors import BundleError, NoVectorError, damaged
from ranklet.runtime.ground.options import MOST_TEXT, integer, one_of, text
from ranklet.runtime.kinds import Settings
from ranklet.runtime.onnx.encoder import TOKENIZER, VARIANTS, Encoded, Encoder, open_encoder
from ranklet.runtime.onnx.query_table import QUERIES, QueryTable
from ranklet.runtime.onnx.token_table import TokenTable
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.tokenizing import TextToken, encode

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.dense.hnsw import HNSWIndex

# Names of the graph's inputs, (batch, tokens) int64, and of its output, (batch, dimension) float32.
# An encoder without token types has no third input.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "sentence_embedding"

# The files of the kind in rankers/NAME/, in addition to the tokenizer and either the variants of
# the graph or a table with one vector per token.
VECTORS = "vectors.npy"  # of all documents, (documents, dimension) of the type that `stored` names
SCALES = "vectors.scales.npy"  # > 0, if `stored` is int8, the factor of each vector, (documents,)
HNSW = "hnsw.bin"  # hnswlib's index, if `search` is hnsw
CODES = "codes.npy"  # of all documents, (words, documents) uint64, if `search` is binary
TABLE = "table.npy"  # (vocabulary, dimension) float32, float16 or int8
TABLE_SCALES = "table_scales.npy"  # of a table of int8, the factor of each row, (vocabulary,)

NETWORKS, QUERY_TABLE = "networks", "query_table"
GIVEN, GIVEN_TABLE = "given", "given_table"
ENCODERS = ("network", "table", NETWORKS, QUERY_TABLE, GIVEN, GIVEN_TABLE)
POOLINGS = ("mean", "cls", "max", "last", "weighted_mean", "mean_sqrt")
OWN_POOLING = "modules"  # of an imported network, whose modules pool in another way
EXHAUSTIVE = "exhaustive"  # exact search at any size; indexing replaces "exact" if there are many
SEARCHES = ("exact", "binary", "hnsw")
# Of the documents that codes choose, how many a table's vectors are compared with. A table is not
# exact itself, and no query of train lost by less (`python -m benchmarks query_table`).
FEWER = 0.1
MARKED = 1 << 16  # characters of a document in which the tokens of a query are looked for
EXACT = 1e-6  # rounding; a larger difference of a score from its explanation is shown


@dataclass(frozen=True)
class DenseSettings(Settings):
    """The settings of a dense encoder and its index; a token limit counts special tokens.

    For the similarity cosine the encoder returns vectors of length 1. The encoder ``table`` is one
    stored vector per token, whose mean is a text's vector. The encoder ``networks`` has one network
    for documents and another one, or such a table, for queries, and ``query_table`` a network for
    documents and a `QueryTable` for queries, which reads no prompt. ``given`` has no encoder,
    because all vectors come from outside, and ``given_table`` only a `QueryTable`.

    Attributes:
        stored: how the vectors of documents are stored, one of `FORMS`; queries have 32 bits.
    """

    max_query_tokens: int = integer(20, "tokens read of a query (Zhan et al.)", 1, 1 << 20)
    max_document_tokens: int = integer(256, "tokens read of a document (Zhan et al.)", 1, 1 << 20)
    dimension: int = integer(384, "dimension of the vectors", 1, 1 << 16)
    encoder: str = one_of("network", ENCODERS, "what returns the vectors")
    pooling: str = one_of(
        "mean", POOLINGS, "how the states of the last layer become a vector", untyped=OWN_POOLING
    )
    similarity: str = one_of("cosine", SIMILARITIES, "score of two vectors")
    document_segment: int = integer(0, "token_type_ids of documents; queries have 0", 0, 1)
    query_prompt: str = text("", "text before every query", MOST_TEXT)
    document_prompt: str = text("", "text before every document", MOST_TEXT)
    stored: str = one_of(WHOLE, tuple(FORMS), "how the vectors of documents are stored")
    search: str = one_of(
        "exact",
        SEARCHES,
        "how to search; by default exact, and binary from 50,000 documents on, or from 500 where "
        "a table encodes queries",
        untyped=EXHAUSTIVE,
    )
    model: str = text("", "name of the model whose vectors come from outside", MOST_TEXT)
    m: int = integer(16, "hnsw: links per vector on each layer", 2, 1024)
    ef_construction: int = integer(200, "hnsw: candidates while building", 1, 1 << 16)
    ef: int = integer(128, "hnsw: candidates while searching", 1, 1 << 16)

    @property
    def by_tokens(self) -> bool:
        """Whether a table encodes queries for a network's documents."""
        return self.encoder in (QUERY_TABLE, GIVEN_TABLE)

    @property
    def given(self) -> bool:
        """Whether the vectors of documents come from outside."""
        return self.encoder in (GIVEN, GIVEN_TABLE)

    @property
    def scaled(self) -> bool:
        """Whether each stored vector has a factor; one from outside stays as it was given."""
        return self.stored == "int8" or (
            self.given and self.similarity == "cosine" and self.stored == WHOLE
        )

    def store(self, vectors: NDArray[np.float32]) -> StoredVectors:
        """Return vectors of documents as they are stored, (documents, dimension)."""
        if not (self.given and self.similarity == "cosine"):
            return StoredVectors.of(vectors, self.stored)
        factors = unit_factors(vectors)
        if self.stored == WHOLE:
            return StoredVectors(vectors, factors)
        return StoredVectors.of(vectors * factors[:, None], self.stored)

    @property
    def documents_apart(self) -> bool:
        """Whether the graphs in the ranker's folder encode documents alone."""
        return self.encoder in (NETWORKS, QUERY_TABLE)

    @property
    def routed(self) -> bool:
        """Whether queries and documents have encoders that were made for each other."""
        return self.encoder == NETWORKS

    def by_codes(self, codes: NDArray[np.uint64], vectors: StoredVectors) -> BinaryIndex:
        """Return an index of binary codes over vectors."""
        return BinaryIndex(codes, vectors, FEWER if self.by_tokens else 1.0)


def unit_factors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what gives each vector the length 1, (vectors,) float32.

    It is exactly 1 for a vector that has this length but for rounding.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[np.abs(lengths - 1) <= EXACT] = 1
    return np.asarray(1 / lengths, np.float32)


class DenseEncoder:
    """Turns queries and documents into vectors.

    Args:
        settings: the limits and prompts.
        encoder: the encoder of both, or of documents; or what opens it when documents are encoded.
        queries: the encoder of queries, if they have one of their own.
        encodes_documents: whether there is an encoder of documents.
    """

    def __init__(
        self,
        settings: DenseSettings,
        encoder: Encoder | TokenTable | Callable[[], Encoder],
        queries: Encoder | TokenTable | QueryTable | None = None,
        *,
        encodes_documents: bool = True,
    ) -> None:
        self.settings, self._given, self._queries = settings, encoder, queries
        self.encodes_documents = encodes_documents

    @cached_property
    def encoder(self) -> Encoder | TokenTable:
        """The encoder of both, or of documents.

        Raises:
            BundleError: the bundle was built for queries alone.
            NoVectorError: vectors come from outside.
        """
        if self.settings.given:
            raise NoVectorError("its vectors come from outside, so it encodes no texts")
        if not self.encodes_documents:
            raise BundleError(
                "this bundle was built for queries alone (sides), so it encodes no documents; "
                "build it again from all documents, or once with `ranklet build --sides both`"
            )
        return self._given() if callable(self._given) else self._given

    @property
    def of_queries(self) -> Encoder | TokenTable | QueryTable:
        """The encoder of queries.

        Raises:
            NoVectorError: queries come with their vectors.
        """
        if self._queries is None and self.settings.given:
            raise NoVectorError("the query has no vector; pass vector=…")
        return self._queries or self.encoder

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str, *, many: bool = False) -> "DenseEncoder":
        """Open the encoder of a bundle's ranker.

        Args:
            bundle: the bundle with the ranker.
            name: name of the ranker.
            many: whether it encodes many texts at a time, and not a query now and then.
        """
        settings: DenseSettings = bundle.settings(name)
        folder, dimension = f"rankers/{name}/", settings.dimension
        opened = partial(open_encoder, bundle, output=OUTPUT, dimension=dimension, many=many)
        if settings.encoder == "network":
            return cls(settings, opened(folder))
        if settings.encoder == "table":
            return cls(settings, _open_table(bundle, folder, settings))
        queries: Encoder | TokenTable | QueryTable | None
        if settings.encoder == GIVEN:
            queries = None
        elif settings.by_tokens:
            queries = QueryTable.open(bundle, folder, dimension)
        elif bundle.has(folder + QUERIES + TABLE):
            queries = _open_table(bundle, folder + QUERIES, settings)
        else:
            queries = opened(folder + QUERIES)
        there = any(bundle.has(folder + file) for file in VARIANTS.values())
        return cls(settings, partial(opened, folder), queries, encodes_documents=there)

    def encode_queries(self, texts: list[str]) -> Encoded:
        """Return vectors of queries, (texts, dimension) float32."""
        prompted = [self.prompted(text) for text in texts]
        return self.of_queries.encode(prompted, self.settings.max_query_tokens, 0)

    def prompted(self, query: str) -> str:
        """Return a query as its encoder reads it."""
        return query if self.settings.by_tokens else self.settings.query_prompt + query

    def encode_documents(self, texts: list[str]) -> Encoded:
        """Return vectors of documents, (texts, dimension) float32."""
        settings = self.settings
        prompted = [settings.document_prompt + text for text in texts]
        return self.encoder.encode(
            prompted, settings.max_document_tokens, settings.document_segment
        )

    @property
    def divides(self) -> bool:
        """Whether a document's vector can be divided among its tokens."""
        additive = self.settings.pooling in ADDITIVE and self.encodes_documents
        return additive and self.encoder.has_states

    def document_shares(self, text: str) -> tuple[list[TextToken], NDArray[np.float64]]:
        """Return the tokens that are read of a document and what each adds to its vector.

        The prompt stands before the text, so its tokens have places below 0.
        """
        settings, prompt = self.settings, len(self.settings.document_prompt)
        tokens, states = self.encoder.states(
            settings.document_prompt + text, settings.max_document_tokens, settings.document_segment
        )
        shares = token_shares(
            states, settings.pooling, settings.dimension, normalise=settings.similarity == "cosine"
        )
        placed = [
            token._replace(begin=token.begin - prompt, end=token.end - prompt) for token in tokens
        ]
        return placed, shares

    def query_shares(
        self, table: QueryTable | TokenTable, query: str
    ) -> tuple[list[TextToken], NDArray[np.float64]]:
        """Return the tokens of a query and what each adds to its vector."""
        limit = self.settings.max_query_tokens
        if isinstance(table, QueryTable):
            return table.shares(query, limit)
        tokens, rows = table.states(self.prompted(query), limit, 0)
        normalise = self.settings.similarity == "cosine"
        return tokens, token_shares(rows, "mean", rows.shape[1], normalise=normalise)

    @property
    def digest(self) -> str:
        """A text that changes whenever the stored vectors of documents would."""
        settings = self.settings
        form = "" if settings.stored == WHOLE else f" {settings.stored}"
        return (
            f"{self.encoder.digest} {settings.max_document_tokens} {settings.document_segment} "
            f"{settings.document_prompt!r}{form}"
        )


def _open_table(bundle: "BundleFiles", folder: str, settings: DenseSettings) -> TokenTable:
    """Open a table of one vector per token, with its tokenizer; see `DenseEncoder.open`."""
    tokenizer = bundle.tokenizer(folder + TOKENIZER)
    types = (np.float16, (None, settings.dimension), np.float32, np.int8)
    table = bundle.array(folder + TABLE, *types)
    digest, scales = bundle.manifest.files[folder + TABLE].sha256, None
    if table.dtype == np.int8:
        scales = bundle.array(folder + TABLE_SCALES, np.float32, (len(table),))
        digest += bundle.manifest.files[folder + TABLE_SCALES].sha256
    normalise = settings.similarity == "cosine"
    return TokenTable(table, tokenizer, digest, normalise=normalise, scales=scales)


def open_vectors(bundle: "BundleFiles", name: str, settings: DenseSettings) -> StoredVectors:
    """Return the mapped vectors of a bundle's documents.

    Args:
        bundle: the bundle with the ranker and a collection.
        name: name of the ranker.
        settings: say their form and their dimension.

    Raises:
        BundleError: they are missing, or of another type or shape.
    """
    folder, count = f"rankers/{name}/", bundle.manifest.documents
    shape = (count, settings.dimension)
    values = bundle.array(folder + VECTORS, FORMS[settings.stored], shape)
    if not settings.scaled:
        return StoredVectors(values)
    return StoredVectors(values, bundle.array(folder + SCALES, np.float32, (count,)))


class Dense(Retriever, EncodesTexts):
    """The inner product of the query's and the document's vectors.

    Args:
        encoder: encodes queries, and the caller's texts.
        bundle: holds the vectors of the collection.
        name: name of the ranker in the bundle.
    """

    def __init__(self, encoder: DenseEncoder, bundle: "BundleFiles", name: str) -> None:
        self.encoder, self.settings = encoder, encoder.settings
        self._bundle, self._name, self._folder = bundle, name, f"rankers/{name}/"
        self.encodes_queries = self.settings.given  # by an endpoint, if there is one
        if self.settings.encoder == GIVEN:
            return
        # A thread would take longer to start than a table to encode.
        self.encodes_queries |= not isinstance(encoder.of_queries, TokenTable | QueryTable)
        self.analyzer = Analyzer.of_pieces(encoder.of_queries.tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "Dense":
        """Open the ranker `name` of a bundle; its index is opened by the first search."""
        return cls(DenseEncoder.open(bundle, name), bundle, name)

    def over(self, parts: "Sequence[BundleFiles]") -> list["Dense"]:
        """Return the ranker over each of some parts of a collection; they share the encoder."""
        return [self, *(Dense(self.encoder, each, self._name) for each in parts[1:])]

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the encoder of queries runs on; empty for a table."""
        return "" if self.settings.encoder == GIVEN else self.encoder.of_queries.provider

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Return the vectors of texts, (texts, dimension) float32, with the role's prompt."""
        by_role = {"query": self.encoder.encode_queries, "document": self.encoder.encode_documents}
        return by_role[role](list(texts))

    def encode_query(self, query: QueryContext) -> NDArray[np.float32]:
        """Return the query's vector, (dimension,) float32; computed once per query."""
        vector: NDArray[np.float32] = self._encoded(query).vectors[0]
        return vector

    query_vector = encode_query

    def document_vectors(self) -> Iterator[NDArray[np.float32]]:
        """Yield the vector of each document, (dimension,) float32."""
        return iter(self.vectors)

    def read_vectors(self, numbers: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Return the stored vectors of some documents, (numbers, dimension) float32."""
        return self.vectors.fetch_vectors(numbers)

    def _encoded(self, query: QueryContext) -> Encoded:
        found = query.once(self.encoder, lambda: self._encode(query))
        if isinstance(found, NoVectorError):  # which is known now, so nobody waits for it twice
            raise found
        return found

    def _encode(self, query: QueryContext) -> Encoded | NoVectorError:
        """Return the vector that came with a query, or that of an endpoint or of its text."""
        given = query.vector
        vector = given.values if given is not None and given.ranker == self._name else None
        try:
            if vector is None and self.settings.given:
                vector = self._asked(query)
            if vector is None:
                return self.encoder.encode_queries([query.text])
        except NoVectorError as error:
            return error
        row = vector[np.newaxis]
        if self.settings.similarity == "cosine":
            row = row * unit_factors(row)[:, None]
        return Encoded(row, [])

    def _asked(self, query: QueryContext) -> NDArray[np.float32] | None:
        """Return the vector by an endpoint; None if there is none, or if a table stands in.

        Raises:
            NoVectorError: it did not answer, and there is no table.
        """
        from ranklet.runtime.dense.endpoint import find_endpoint  # few bundles need it

        endpoint = find_endpoint(self.settings.model, self.settings.dimension)
        if endpoint is None:
            return None
        try:
            return endpoint.encode(query.text)
        except NoVectorError as error:
            if not self.settings.by_tokens:
                raise
            query.remark(f"{self._name}: {error}, so its table encoded the query")
            return None

    @cached_property
    def vectors(self) -> StoredVectors:
        """The documents' vectors, mapped."""
        self._bundle.need_collection()
        return open_vectors(self._bundle, self._name, self.settings)

    @cached_property
    def index(self) -> "ExactIndex | BinaryIndex | HNSWIndex":
        """The index of the documents' vectors."""
        search = self._bundle.settings(self._name).search  # an addition is too small for codes
        if search == "hnsw":
            from ranklet.runtime.dense.hnsw import HNSWIndex  # with what writes temporary files

            data = self._bundle.file(self._folder + HNSW)
            return HNSWIndex(data, self.vectors, ef=self.settings.ef)
        if search != "binary":
            return ExactIndex(self.vectors)
        shape = (-(-self.settings.dimension // WORD), len(self.vectors))
        codes = self._bundle.array(self._folder + CODES, np.uint64, shape)
        return self.settings.by_codes(codes, self.vectors)

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k documents with the largest inner product, of all or of those allowed."""
        vectors, truncated = self._encoded(query)
        found = self.index.search(vectors[0], k, allowed)
        if not np.isfinite(found[1]).all():
            raise damaged(f"{self._name}: a score is not finite")
        return Retrieved(*found, bool(truncated))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the inner product with each candidate.

        The caller's texts are stored like those of the collection, so that equal ones score alike.
        """
        vectors, numbers, cut = self._vectors_of(candidates)
        queries, query_truncated = self._encoded(query)
        return Scores(vectors.multiply_vectors(numbers, queries[0]), cut, bool(query_truncated))

    def _vectors_of(
        self, candidates: Candidates
    ) -> tuple[StoredVectors, NDArray[np.uint32], list[int]]:
        """Return vectors with the numbers of the candidates' own, and which texts were cut."""
        if candidates.stored is not None:
            return self.vectors, candidates.stored, []
        encoded, cut = self.encoder.encode_documents(list(candidates.texts))
        vectors = self.settings.store(encoded)
        return vectors, np.arange(len(encoded), dtype=np.uint32), cut

    def scale(self, query: QueryContext) -> float:  # noqa: ARG002
        """Return 1, because the scores of one encoder are comparable as they are."""
        return 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> "Explanation":
        """Explain a score by the words of the document, if its vector is a sum over tokens.

        The text is encoded again. If its vector differs from the stored one, that is a part, too,
        as it does by rounding unless vectors are stored in 32 bits.
        An encoder that pools in another way, or that was exported without the states of tokens, has
        no parts by token. A table of queries explains a score by the words of the query instead.
        """
        from ranklet.runtime.answers.explanation import RANKER_FIELD, Explanation
        from ranklet.runtime.dense.word_amounts import explain_words  # few calls explain

        name = {"dot": "inner product", "cosine": "cosine"}[self.settings.similarity]
        label = f"{name} of the vectors"
        of_queries = None if self.settings.encoder == GIVEN else self.encoder.of_queries
        apart = self.settings.documents_apart or self.settings.given
        own = query.vector is None or query.vector.ranker != self._name
        if isinstance(of_queries, QueryTable | TokenTable) and apart and own:
            return self._explain_by_query(of_queries, label, query, candidate)
        score = float(self.score(query, candidate).values[0])
        if not self.encoder.divides:
            return Explanation(f"{label}, which cannot be divided among words", score)
        text = candidate.texts[0]
        tokens, shares = self.encoder.document_shares(text)
        amounts = (shares @ self.encode_query(query).astype(np.float64)).tolist()
        explanation = explain_words(label, RANKER_FIELD + self._name, text, tokens, amounts)
        difference = score - explanation.value
        if abs(difference) <= EXACT:
            return explanation
        stored, form = "the vector", self.settings.stored
        if form != WHOLE:
            stored = f"the stored vector, in {form},"
        elif candidate.stored is not None:
            stored = "the stored vector"
        rest = Explanation(f"{stored} differs from the sum of its tokens", difference)
        return replace(explanation, value=score, parts=(*explanation.parts, rest))

    def _explain_by_query(
        self, table: QueryTable | TokenTable, label: str, query: QueryContext, candidate: Candidates
    ) -> "Explanation":
        """Explain a score by the query's words; the document's equal tokens are what is marked."""
        from ranklet.runtime.answers.explanation import RANKER_FIELD, Explanation

        vectors, numbers, _ = self._vectors_of(candidate)
        vector = vectors.floats(numbers)[0].astype(np.float64)
        tokens, shares = self.encoder.query_shares(table, query.text)
        there = frozenset(encode(table.tokenizer, candidate.texts[0][:MARKED]).tokens)
        field, parts = RANKER_FIELD + self._name, list[Explanation]()
        for token, amount in zip(tokens, shares @ vector, strict=True):
            piece = (field, token.spelling)
            source = piece if token.spelling in there else None
            parts.append(
                Explanation(token.spelling, float(amount), source=source, query_token=piece)
            )
        return Explanation.total(label, parts)

    def verify(self) -> None:
        """Check every vector and that the index can be read; raise BundleError at a fault."""
        if self.settings.encoder != GIVEN and isinstance(
            self.encoder.of_queries, TokenTable | QueryTable
        ):
            self.encoder.of_queries.verify(self._name)
        self.vectors.verify(self._name)
        self.index.search(self.vectors.floats(slice(1))[0], 1)
        if isinstance(self.index, BinaryIndex):
            self.index.verify(self._name)


RANKER = Dense
SETTINGS = DenseSettings
