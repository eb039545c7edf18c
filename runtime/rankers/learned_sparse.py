"""Learned sparse rankers score by the dot product of sparse vectors over word pieces.

The vectors of the collection are stored twice, by document for rescoring and explanations, and by
term for retrieval.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import EncodesTexts, Retrieved, Retriever, Role, Scores
from ranklet.runtime.call.query import QueryContext, SparseQuery
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.options import integer, one_of
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.lexical.sparse_store import MOST_TERMS, SparseRows, SparseStore, prune
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded, Encoder, open_encoder
from ranklet.runtime.storage.arrays import id_type
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.tokenizing import token_ids

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer

# Names of the graphs' inputs, each (batch, tokens) int64.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PRIORITIES = "priorities.npy"  # one per term, for pruning; > 0, (vocabulary,) float32

AT_A_TIME = 64  # documents whose whole vectors are in memory until they are pruned; 8 MB for BERT
# The files in rankers/NAME/, the documents' vectors as a forward store and as an impact index.
INDEX = "index/"
OFFSETS = "vectors.offsets.npy"  # (documents + 1,) int64
TERMS = "vectors.terms.npy"  # ascending within a document, (n,) uint16 or uint32
VALUES = "vectors.values.npy"  # > 0, (n,) float16
EXPANSION_SHOWN = 10  # number of terms shown that are in a document's vector but not in its text


@dataclass(frozen=True)
class SparseSettings(Settings):
    """The limits of the encoders and the form of stored vectors.

    Token limits count [CLS] and [SEP]. The field is empty for a tokenizer of the ranker's own.
    """

    max_query_tokens: int = integer(32, "tokens read of a query", 3, 8192)
    max_document_tokens: int = integer(128, "tokens read of a document", 3, 8192)
    vocabulary: int = integer(30_522, "word pieces, the dimensions of a vector", 1, MOST_TERMS)
    kept: int = integer(1000, "r, values stored per document", 1, MOST_TERMS)
    impacts: str = one_of("float16", tuple(IMPACT_TYPES), "type of values in the impact index")
    field: str = "wordpieces"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.field not in ("wordpieces", ""):
            raise InputError(f"field is {self.field!r}; it must be wordpieces, or empty")


class SparseEncoder(NamedTuple):
    """The place of one of a kind's encoders, and how it is run."""

    folder: str  # folder of its variants below rankers/NAME/, with a final slash unless empty
    output: str  # name of the graph's output
    segment: int  # token_type_ids of every token


class SparseEncoders(ABC):
    """The encoders of queries and documents of a kind.

    Args:
        settings: limits and types.
        queries: opens the encoder of queries.
        documents: opens the encoder of documents, which ranking stored documents never needs.
        tokenizer: the tokenizer of both encoders.
        per_term: returns the array of a file, with one number per term, (vocabulary,) float32.
    """

    of_queries: ClassVar[SparseEncoder]
    of_documents: ClassVar[SparseEncoder]

    def __init__(
        self,
        settings: SparseSettings,
        queries: Callable[[], Encoder],
        documents: Callable[[], Encoder],
        tokenizer: "Tokenizer",
        per_term: Callable[[str], NDArray[np.float32]],
    ) -> None:
        self.settings, self._open_queries, self._open_documents = settings, queries, documents
        self.tokenizer, self.per_term = tokenizer, per_term

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> Self:
        """Open the encoders of a bundle's ranker; models are opened when they are first used."""
        settings: SparseSettings = bundle.settings(name)
        folder, size = f"rankers/{name}/", settings.vocabulary
        shared = settings.field == "wordpieces"
        tokenizer = bundle.analyzer.tokenizer if shared else bundle.tokenizer(folder + TOKENIZER)

        def encoder(part: SparseEncoder, *, many: bool) -> Encoder:
            variants = folder + part.folder
            return open_encoder(bundle, variants, part.output, size, tokenizer, many=many)

        def per_term(file: str) -> NDArray[np.float32]:
            return np.asarray(bundle.array(folder + file, np.float32, (size,)))

        queries = partial(encoder, cls.of_queries, many=False)
        documents = partial(encoder, cls.of_documents, many=True)
        return cls(settings, queries, documents, tokenizer, per_term)

    @abstractmethod
    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return the vectors of some queries, and the indices of the truncated queries."""

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the query encoder runs on."""
        return self.query_encoder.session.provider

    @cached_property
    def query_encoder(self) -> Encoder:
        """The encoder of queries, opened on first use."""
        return self._open_queries()

    @cached_property
    def document_encoder(self) -> Encoder:
        """The encoder of documents, opened on first use."""
        return self._open_documents()

    def priorities(self) -> NDArray[np.float32]:
        """Return the priorities of terms for `prune`, (vocabulary,) float32."""
        return self.per_term(PRIORITIES)

    def encode_documents(self, texts: Sequence[str]) -> SparseRows:
        """Return the pruned vectors of some documents."""
        parts, longer = [np.empty((0, *self.row_shape), self.row_type)], list[int]()
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
        """The shape of a row of `SparseRows`."""
        return 2, min(self.settings.kept, self.settings.vocabulary)

    @property
    def row_type(self) -> type[np.unsignedinteger]:
        """The type of `SparseRows`."""
        return id_type(self.settings.vocabulary)

    @property
    def digest(self) -> str:
        """A text that changes whenever the vectors would: the model's digest and the limits."""
        limits = f"{self.settings.max_document_tokens} {self.settings.kept}"
        priorities = sha256(self.priorities().tobytes()).hexdigest()
        return f"{self.document_encoder.digest} {limits} {priorities}"

    def verify(self, name: str) -> None:
        """Check the arrays and run the encoder of documents; raise BundleError with the name."""
        priorities = self.priorities()
        if not (np.isfinite(priorities) & (priorities > 0)).all():
            raise BundleError(f"{name}: {PRIORITIES} holds a value that is not finite and positive")
        self.encode_documents([""])


class LearnedSparse(Retriever, EncodesTexts):
    """Dot product of the sparse vectors of a query and a document.

    Args:
        encoders: the encoders of queries and documents.
        bundle: the bundle with the documents' vectors.
        name: the ranker's name in the bundle.
    """

    encodes_queries = True
    label: ClassVar[str]  # its name in explanations and messages
    encoders_class: ClassVar[type[SparseEncoders]]

    def __init__(self, encoders: SparseEncoders, bundle: "BundleFiles", name: str) -> None:
        self.encoders, self._bundle, self._name = encoders, bundle, name
        self.settings, self._folder = encoders.settings, f"rankers/{name}/"
        self.analyzer = Analyzer.of_pieces(encoders.tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> Self:
        """Open the ranker `name` of a bundle; models and vectors are opened when first used."""
        return cls(cls.encoders_class.open(bundle, name), bundle, name)

    def over(self, parts: "Sequence[BundleFiles]") -> list[Self]:
        """Return the ranker over each of some parts of a collection; they share the encoders."""
        return [self, *(type(self)(self.encoders, each, self._name) for each in parts[1:])]

    @property
    def provider(self) -> str:
        """The provider that queries are encoded on."""
        return self.encoders.provider

    def encode(self, texts: Sequence[str], role: Role) -> tuple[list[SparseQuery], Sequence[int]]:
        """Return the terms of texts with their weights, of which none is left out."""
        if role == "query":
            return self.encoders.encode_queries(texts)
        rows, cut = self.encoders.encode_whole(texts)
        every = np.arange(self.settings.vocabulary)
        return [SparseQuery.positive(every, row) for row in rows], cut

    @cached_property
    def store(self) -> SparseStore:
        """The mapped vectors by document."""
        bundle = self._collection
        offsets = bundle.offsets(self._folder + OFFSETS, bundle.manifest.documents)
        shape = (int(offsets[-1]),)
        return SparseStore(
            offsets,
            bundle.array(self._folder + TERMS, self.encoders.row_type, shape),
            bundle.array(self._folder + VALUES, np.float16, shape),
        )

    @cached_property
    def index(self) -> ImpactIndex:
        """The mapped vectors by term."""
        folder, dtype = self._folder + INDEX, self.settings.impacts
        return ImpactIndex.open(self._collection, folder, self.settings.vocabulary, (dtype,))

    def encode_query(self, query: QueryContext) -> SparseQuery:
        """Return the query's vector, which is computed once per query."""
        return self._encoded(query)[0]

    query_vector = encode_query

    def document_vectors(self) -> Iterator[SparseQuery]:
        """Yield the vector of each document."""
        store = self.store
        for number in range(len(store)):
            terms, values = store.vector(number)
            yield SparseQuery(terms.astype(np.int32), values)

    def _encoded(self, query: QueryContext) -> tuple[SparseQuery, bool]:
        """Return the query's vector, and whether the query was truncated."""

        def encode() -> tuple[SparseQuery, bool]:
            (vector,), truncated = self.encoders.encode_queries([query.text])
            return vector, bool(truncated)

        return query.once(self.encoders, encode)

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return self.settings.impacts != "uint8"

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k documents with the largest dot product that share a term with the query.

        A mask limits them to the documents that it allows. If the index has 8 bits, these choose
        the documents, and the scores come from the 16 bits of the stored vectors.
        """
        vector, query_truncated = self._encoded(query)
        numbers, scores = self.index.retrieve(*vector, k, allowed)
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
        """Return 1 / Σ weights, so that longer queries do not have larger scores in a fusion."""
        total = float(self.encode_query(query).weights.sum())
        return 1 / total if total > 0 else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by all terms of the query; see `explain_terms`."""
        vector = self.encode_query(query)
        store, (number,), _ = self._vectors(candidate)
        limit = self.settings.max_document_tokens
        (read,), _ = token_ids(self.encoders.tokenizer, candidate.texts, limit)
        field = self.settings.field or RANKER_FIELD + self._name
        parts = explain_terms(vector, store, int(number), set(read), self._spelling, field)
        pieces = max(0, len(read) - self.encoders.tokenizer.num_special_tokens_to_add(False))
        read_pieces = ReadSpans(field, ((0, pieces),))
        return replace(Explanation.total(self.label, parts), read=read_pieces)

    def verify(self) -> None:
        """Check every number and that both indexes agree; raise BundleError at the first fault."""
        name = f"{self.label} {self._name}"
        self.store.verify(name, self.settings.vocabulary)
        self.index.verify(name)
        postings = np.bincount(self.store.terms, minlength=self.settings.vocabulary)
        lost = postings - np.diff(self.index.offsets)
        if (lost < 0).any() or (self.settings.impacts != "uint8" and lost.any()):
            raise BundleError(f"{name}: the index has other postings than the documents' vectors")
        self.encoders.verify(name)

    def _spelling(self, term: int) -> str:
        return self.encoders.tokenizer.id_to_token(term) or f"#{term}"

    def _vectors(
        self, candidates: Candidates
    ) -> tuple[SparseStore, NDArray[np.integer], Sequence[int]]:
        """Return a store with the candidates, their numbers in it, and the truncated ones."""
        if candidates.stored is not None:
            return self.store, candidates.stored, ()
        rows = self.encoders.encode_documents(candidates.texts)
        return rows.store, np.arange(len(candidates)), rows.cut

    @property
    def _collection(self) -> "BundleFiles":
        self._bundle.need_collection()
        return self._bundle


def explain_terms(
    query: SparseQuery,
    store: SparseStore,
    document: int,
    in_text: Set[int],
    spell: Callable[[int], str],
    field: str,
) -> list[Explanation]:
    """Return one part per query term, and one that lists the document's strongest expansion.

    A label names the query term's weight (MacAvaney et al., figure 3), and a part below it says
    whether the document has the term in its text or by expansion. The strongest expansion (figure
    4) adds nothing to the score.

    Args:
        query: terms and weights of the query.
        store: holds the document's vector.
        document: the document's number in the store.
        in_text: terms of the document's text.
        spell: returns the spelling of a term.
        field: the field of the terms, as in `Explanation.source`.
    """
    parts = []
    impacts = store.impacts(query.terms, np.array([document]))[:, 0]
    for term, weight, impact in zip(query.terms.tolist(), query.weights, impacts, strict=True):
        name = spell(term)
        label = f"{name}: importance {weight:.3f} · impact {impact:.3f}"
        inner = []
        if impact > 0:
            value, source = float(weight * impact), (field, name) if term in in_text else None
            place = "in the text" if source else "by expansion"
            inner.append(Explanation(f"{name}, {place}", value, source=source))
        parts.append(replace(Explanation.total(label, inner), query_token=(field, name)))
    terms, values = store.vector(document)
    descending = np.argsort(-values, kind="stable").tolist()
    expansion = (index for index in descending if int(terms[index]) not in in_text)
    strongest = [
        Explanation(f"{spell(int(terms[index]))}: impact {values[index]:.3f}", 0.0)
        for index in islice(expansion, EXPANSION_SHOWN)
    ]
    if strongest:
        parts.append(Explanation.total("not in the text: its strongest expansion", strongest))
    return parts
