"""What learned sparse rankers share: a text is a sparse vector over word pieces.

A score is the dot product of the query's vector and the document's. Documents of the collection are
stored twice: by document for rescoring and explanations, and by term for retrieval.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.lexical.sparse_explanation import explain_terms
from ranklet.runtime.lexical.sparse_store import (
    MOST_TERMS,
    SparseQuery,
    SparseRows,
    SparseStore,
    prune,
)
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded, Encoder, open_encoder, token_ids
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.topk import top_k
from ranklet.runtime.rankers.protocol import Retrieved, Retriever, Scores
from ranklet.runtime.storage.checks import Settings, check_integer, check_one_of
from ranklet.runtime.text.analysis import Analyzer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.storage.bundle_files import BundleFiles

# Names of the graphs' inputs, (batch, tokens) int64 each.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Files in rankers/NAME/: the documents' vectors as a forward store and as an impact index.
INDEX = "index/"
OFFSETS = "vectors.offsets.npy"  # (documents + 1,) int64
TERMS = "vectors.terms.npy"  # ascending within a document, (n,) uint16
VALUES = "vectors.values.npy"  # > 0, (n,) float16
PRIORITIES = "priorities.npy"  # one per term, for pruning; > 0, (vocabulary,) float32

AT_A_TIME = 64  # documents whose whole vectors are in memory before they are pruned; 8 MB


@dataclass(frozen=True)
class SparseSettings(Settings):
    """Limits of the encoders, and how vectors are stored.

    Attributes:
        max_query_tokens: longer queries are cut; [CLS] and [SEP] count.
        max_document_tokens: longer documents are cut; [CLS] and [SEP] count.
        vocabulary: number of word pieces, which are the dimensions of a vector.
        kept: r, the number of values that are stored per document.
        impacts: type of the values in the impact index: float32, float16 or uint8.
        field: wordpieces for the pieces of the bundle's tokenizer; empty for a tokenizer of its
            own.
    """

    max_query_tokens: int = 32
    max_document_tokens: int = 128
    vocabulary: int = 30_522
    kept: int = 1000
    impacts: str = "float16"
    field: str = "wordpieces"

    def __post_init__(self) -> None:
        """Check every value."""
        check_integer("max_query_tokens", self.max_query_tokens, 3, 8192)
        check_integer("max_document_tokens", self.max_document_tokens, 3, 8192)
        if type(self.vocabulary) is int and self.vocabulary > MOST_TERMS:
            raise InputError(
                f"the vocabulary has {self.vocabulary:,} word pieces, and a document's terms are "
                f"stored in 16 bits: {MOST_TERMS:,} at most; take a backbone with a smaller one"
            )
        check_integer("vocabulary", self.vocabulary, 1, MOST_TERMS)
        check_integer("kept", self.kept, 1, MOST_TERMS)
        check_one_of("impacts", self.impacts, tuple(IMPACT_TYPES))
        if self.field not in ("wordpieces", ""):
            raise InputError(f"field is {self.field!r}; it must be wordpieces, or empty")


class SparseEncoder(NamedTuple):
    """Where a kind keeps one of its encoders, and how it is run."""

    folder: str  # of its variants, below rankers/NAME/; ends with a slash unless empty
    output: str  # name of the graph's output
    segment: int  # token_type_ids of every token


class LearnedSparse(Retriever):
    """Dot product of the sparse vectors of a query and a document.

    Args:
        settings: limits and types.
        queries: opens the encoder of queries.
        documents: opens the encoder of documents, which ranking stored documents never needs.
        tokenizer: of both encoders.
        per_term: returns an array with one number per term by the name of its file, (vocabulary,)
            float32.
        bundle: holds the documents' vectors; None if only texts of the caller are scored.
        name: of the ranker in the bundle.
    """

    encodes_queries = True
    label: ClassVar[str]  # its name in explanations and messages
    settings_class: ClassVar[type[SparseSettings]]
    of_queries: ClassVar[SparseEncoder]
    of_documents: ClassVar[SparseEncoder]

    def __init__(
        self,
        settings: SparseSettings,
        queries: Callable[[], Encoder],
        documents: Callable[[], Encoder],
        tokenizer: "Tokenizer",
        per_term: Callable[[str], NDArray[np.float32]],
        bundle: "BundleFiles | None" = None,
        name: str = "",
    ) -> None:
        self.settings, self._open_queries, self._open_documents = settings, queries, documents
        self._tokenizer, self._bundle, self._name = tokenizer, bundle, name
        self.per_term, self._folder = per_term, f"rankers/{name}/"
        self.analyzer = Analyzer.of_pieces(tokenizer)  # of the pieces that explanations name

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> Self:
        """Open the ranker `name` of a bundle; models and vectors are opened when first used."""
        raw = bundle.manifest.rankers[name].settings
        settings = cls.settings_class.from_json(raw, f"rankers.{name}")
        folder, size = f"rankers/{name}/", settings.vocabulary
        shared = settings.field == "wordpieces"
        tokenizer = bundle.analyzer.tokenizer if shared else bundle.tokenizer(folder + TOKENIZER)

        def encoder(part: SparseEncoder, *, many: bool) -> Encoder:
            variants = folder + part.folder
            return open_encoder(bundle, variants, part.output, size, tokenizer, many=many)

        queries = partial(encoder, cls.of_queries, many=False)
        documents = partial(encoder, cls.of_documents, many=True)

        def per_term(file: str) -> NDArray[np.float32]:
            return np.asarray(bundle.array(folder + file, np.float32, (size,)))

        return cls(settings, queries, documents, tokenizer, per_term, bundle, name)

    @abstractmethod
    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return the vectors of some queries, and the places of the queries that were cut."""

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the query encoder runs on."""
        return self.query_encoder.session.provider

    @cached_property
    def query_encoder(self) -> Encoder:
        """The encoder of queries, opened when a query is first encoded."""
        return self._open_queries()

    @cached_property
    def document_encoder(self) -> Encoder:
        """The encoder of documents, opened when a text is first encoded."""
        return self._open_documents()

    def priorities(self) -> NDArray[np.float32]:
        """Return the priorities of terms that `prune` takes, (vocabulary,) float32."""
        return self.per_term(PRIORITIES)

    @cached_property
    def store(self) -> SparseStore:
        """The documents' vectors by document, mapped."""
        bundle = self._collection()
        offsets = bundle.offsets(self._folder + OFFSETS, bundle.manifest.documents)
        shape = (int(offsets[-1]),)
        return SparseStore(
            offsets,
            bundle.array(self._folder + TERMS, np.uint16, shape),
            bundle.array(self._folder + VALUES, np.float16, shape),
        )

    @cached_property
    def index(self) -> ImpactIndex:
        """The documents' vectors by term, mapped."""
        folder, dtype = self._folder + INDEX, self.settings.impacts
        return ImpactIndex.open(self._collection(), folder, self.settings.vocabulary, (dtype,))

    def encode_query(self, query: QueryContext) -> SparseQuery:
        """Return the query's vector, which is computed once per query."""
        return self._encoded(query)[0]

    def _encoded(self, query: QueryContext) -> tuple[SparseQuery, bool]:
        """Return the query's vector, and whether the query was truncated for it."""

        def encode() -> tuple[SparseQuery, bool]:
            (vector,), truncated = self.encode_queries([query.text])
            return vector, bool(truncated)

        return query.once(id(self), encode)

    def encode_documents(self, texts: Sequence[str]) -> SparseRows:
        """Return the pruned vectors of some documents."""
        parts, longer = [np.empty((0, *self.row_shape), np.uint16)], list[int]()
        for begin in range(0, len(texts), AT_A_TIME):
            vectors, cut = self.encode_whole(texts[begin : begin + AT_A_TIME])
            parts.append(prune(vectors, self.settings.kept, self.priorities()))
            longer += [begin + at for at in cut]
        return SparseRows(np.concatenate(parts), longer)

    def encode_whole(self, texts: Sequence[str]) -> Encoded:
        """Return the whole vectors of some documents, (texts, vocabulary) float32."""
        limit = self.settings.max_document_tokens
        return self.document_encoder.encode(texts, limit, self.of_documents.segment)

    @property
    def row_shape(self) -> tuple[int, int]:
        """Shape of a row of `SparseRows`."""
        return 2, min(self.settings.kept, self.settings.vocabulary)

    def retrieve(self, query: QueryContext, k: int) -> Retrieved:
        """Return the k documents with the largest dot product; they share a term with the query.

        An index of 8 bits only finds them: their scores come from the 16 bits of their vectors.
        """
        vector, query_truncated = self._encoded(query)
        numbers, scores = self.index.retrieve(*vector, k)
        if self.settings.impacts == "uint8":
            exact = self.store.products(vector, numbers)
            order = top_k(exact, k, ties=numbers)
            numbers, scores = numbers[order], exact[order]
        return Retrieved(numbers, scores, query_truncated)

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the dot product with each candidate."""
        vector, query_truncated = self._encoded(query)
        store, numbers, truncated = self._vectors(candidates)
        return Scores(store.products(vector, numbers), truncated, query_truncated)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / Σ weights, so that a longer query has no larger scores in a fusion."""
        total = float(self.encode_query(query).weights.sum())
        return 1 / total if total > 0 else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by all of the query's terms; see `explain_terms`."""
        vector = self.encode_query(query)
        store, (number,), _ = self._vectors(candidate)
        limit = self.settings.max_document_tokens
        (read,), _ = token_ids(self._tokenizer, candidate.texts, limit)
        field = self.settings.field or RANKER_FIELD + self._name
        parts = explain_terms(vector, store, int(number), set(read), self._spelling, field)
        pieces = max(0, len(read) - self._tokenizer.num_special_tokens_to_add(False))
        read_pieces = ReadSpans(field, ((0, pieces),))
        return replace(Explanation.total(self.label, parts), read=read_pieces)

    def verify(self) -> None:
        """Check every number, and that both indexes agree; BundleError names the fault."""
        name = f"{self.label} {self._name}"
        self.store.verify(name, self.settings.vocabulary)
        self.index.verify(name)
        postings = np.bincount(self.store.terms, minlength=self.settings.vocabulary)
        lost = postings - np.diff(self.index.offsets)
        priorities = self.priorities()
        if not (np.isfinite(priorities) & (priorities > 0)).all():
            raise BundleError(f"{name}: {PRIORITIES} holds a value that is not finite and positive")
        if (lost < 0).any() or (self.settings.impacts != "uint8" and lost.any()):
            raise BundleError(f"{name}: the index has other postings than the documents' vectors")
        self.encode_documents([""])

    @property
    def digest(self) -> str:
        """A text that changes whenever the vectors would: the model's digest and the limits."""
        limits = f"{self.settings.max_document_tokens} {self.settings.kept}"
        priorities = sha256(self.priorities().tobytes()).hexdigest()
        return f"{self.document_encoder.digest} {limits} {priorities}"

    def _spelling(self, term: int) -> str:
        return self._tokenizer.id_to_token(term) or f"#{term}"

    def _vectors(
        self, candidates: Candidates
    ) -> tuple[SparseStore, NDArray[np.integer], Sequence[int]]:
        """Return a store that holds the candidates, their numbers in it, and who was truncated."""
        if candidates.stored is not None:
            return self.store, candidates.stored, ()
        rows = self.encode_documents(candidates.texts)
        return rows.store, np.arange(len(candidates)), rows.cut

    def _collection(self) -> "BundleFiles":
        if self._bundle is None:
            raise BundleError("the ranker was opened without a bundle, so it has no documents")
        self._bundle.need_collection()
        return self._bundle
