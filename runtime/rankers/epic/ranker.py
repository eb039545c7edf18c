"""EPIC: a text is a sparse vector over word pieces; importance of its own terms, and expansion.

Source: MacAvaney et al. 2020 (paper 003), §2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex, Scored
from ranklet.runtime.lexical.sparse_store import (
    MOST_TERMS,
    SparseQuery,
    SparseRows,
    SparseStore,
    prune,
)
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded, Encoder, open_encoder
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.topk import top_k
from ranklet.runtime.rankers.epic.explanation import explain_terms
from ranklet.runtime.rankers.protocol import QueryContext
from ranklet.runtime.storage.checks import check_integer, check_number, check_one_of, settings_from
from ranklet.runtime.text.analysis import Analyzer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.storage.bundle_files import BundleFiles

# Names of the graphs' inputs, (batch, tokens) int64, and outputs, float32: importances of a query's
# tokens, (batch, tokens), 0 where one is no term; a document's φ_d, (batch, vocabulary), ≥ 0.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
QUERY_OUTPUT, DOCUMENT_OUTPUT = "term_importances", "term_impacts"
QUERY_SEGMENT, DOCUMENT_SEGMENT = 0, 1  # token_type_ids

# The files of the kind, in rankers/NAME/: each encoder's variants in a folder, and the documents'
# vectors as a forward store and as an impact index.
QUERY_ENCODER, DOCUMENT_ENCODER, INDEX = "query/", "document/", "index/"
OFFSETS = "vectors.offsets.npy"  # (documents + 1,) int64
TERMS = "vectors.terms.npy"  # ascending within a document, (n,) uint16
VALUES = "vectors.values.npy"  # > 0, (n,) float16
PRIORITIES = "priorities.npy"  # of terms where vectors are pruned, > 0, (vocabulary,) float32

AT_A_TIME = 64  # documents whose whole vectors are held before they are pruned; 8 MB


@dataclass(frozen=True)
class EPICSettings:
    """What EPIC's encoders and index are made of.

    Attributes:
        max_query_tokens: longer queries are cut, [CLS] and [SEP] counted.
        max_document_tokens: longer documents are cut, [CLS] and [SEP] counted.
        vocabulary: word pieces, the dimensions of a vector.
        kept: r, values kept of a document's vector (paper 003, §3: 2000, 1000).
        impacts: what the impact index stores values as: float32, float16 or uint8.
        impact_loss: share of the impacts that storing them so lost, as measured at build.
        truncated: documents of the collection that were longer than the limit, as counted at build.
        field: wordpieces: the pieces of the bundle's tokenizer; empty: it has one of its own.
    """

    max_query_tokens: int = 32
    max_document_tokens: int = 128
    vocabulary: int = 30_522
    kept: int = 1000
    impacts: str = "float16"
    impact_loss: float = 0.0
    truncated: int = 0
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
        check_number("impact_loss", self.impact_loss, 0, 1)
        check_integer("truncated", self.truncated, 0, 1 << 32)
        if self.field not in ("wordpieces", ""):
            raise InputError(f"field is {self.field!r}; it must be wordpieces, or empty")

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> "EPICSettings":
        """Read settings; BundleError names `where`."""
        return settings_from(cls, raw, where)


class EPIC:
    """Dot product of the query's importances and the document's impacts (paper 003, eq. 5).

    Args:
        settings: of the encoders and the index.
        queries: makes importances of a query's tokens.
        documents: opens what makes vectors of documents: ranking stored ones never needs it.
        tokenizer: of both.
        priorities: gives what `prune` takes.
        bundle: where the documents' vectors are, None where only texts of the caller are scored.
        name: of the ranker in the bundle.
    """

    def __init__(
        self,
        settings: EPICSettings,
        queries: Encoder,
        documents: Callable[[], Encoder],
        tokenizer: "Tokenizer",
        priorities: Callable[[], NDArray[np.float32]],
        bundle: "BundleFiles | None" = None,
        name: str = "",
    ) -> None:
        self.settings, self._queries, self._open_documents = settings, queries, documents
        self._tokenizer, self._bundle, self._name = tokenizer, bundle, name
        self.priorities, self._folder = priorities, f"rankers/{name}/"
        self.analyzer = Analyzer.of_pieces(tokenizer)  # of what its explanations name

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "EPIC":
        """Open the ranker `name` of a bundle; its vectors are opened when they are first used."""
        settings = EPICSettings.from_json(bundle.manifest.rankers[name].settings, f"rankers.{name}")
        folder = f"rankers/{name}/"
        shared = settings.field == "wordpieces"
        tokenizer = bundle.analyzer.tokenizer if shared else bundle.tokenizer(folder + TOKENIZER)

        def encoder(part: str, output: str, many: bool) -> Encoder:
            size = settings.vocabulary
            return open_encoder(bundle, folder + part, output, size, tokenizer, many=many)

        queries = encoder(QUERY_ENCODER, QUERY_OUTPUT, False)
        documents = partial(encoder, DOCUMENT_ENCODER, DOCUMENT_OUTPUT, True)
        weigh = partial(bundle.array, folder + PRIORITIES, np.float32, (settings.vocabulary,))
        return cls(settings, queries, documents, tokenizer, weigh, bundle, name)

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the query encoder runs on."""
        return self._queries.session.provider

    @cached_property
    def document_encoder(self) -> Encoder:
        """The encoder of documents, opened when a text is first encoded."""
        return self._open_documents()

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
        folder, form = self._folder + INDEX, self.settings.impacts
        return ImpactIndex.open(self._collection(), folder, self.settings.vocabulary, (form,))

    def encode_query(self, query: QueryContext) -> SparseQuery:
        """Return the query's vector; computed once a query."""

        def encode() -> SparseQuery:
            (found,), cut = self.encode_queries([query.text])
            if cut:
                query.tell_cut(self._name)
            return found

        return query.once(id(self), encode)

    def encode_queries(self, texts: Sequence[str]) -> tuple[list[SparseQuery], list[int]]:
        """Return vectors of queries, and the places of those that were cut.

        Raises:
            BundleError: an importance is below 0, or a token past the vocabulary: damage.
        """
        most = self.settings.max_query_tokens
        ids, values, cut = self._queries.encode_tokens(texts, most, QUERY_SEGMENT)
        return [self._vector(*each) for each in zip(ids, values, strict=True)], cut

    def encode_documents(self, texts: Sequence[str]) -> SparseRows:
        """Return pruned vectors of documents."""
        parts, longer = [np.empty((0, *self.row_shape), np.uint16)], list[int]()
        for begin in range(0, len(texts), AT_A_TIME):
            vectors, cut = self.encode_whole(texts[begin : begin + AT_A_TIME])
            parts.append(prune(vectors, self.settings.kept, self.priorities()))
            longer += [begin + at for at in cut]
        return SparseRows(np.concatenate(parts), longer)

    def encode_whole(self, texts: Sequence[str]) -> Encoded:
        """Return whole vectors of documents, (texts, vocabulary) float32."""
        limit = self.settings.max_document_tokens
        return self.document_encoder.encode(texts, limit, DOCUMENT_SEGMENT)

    @property
    def row_shape(self) -> tuple[int, int]:
        """Shape of a row of `SparseRows`."""
        return 2, min(self.settings.kept, self.settings.vocabulary)

    def retrieve(self, query: QueryContext, k: int) -> Scored:
        """Return the k documents with the largest dot product; only those that share a term.

        Where the index holds 8 bits, it finds them, and their vectors' 16 bits give the scores.
        """
        asked = self.encode_query(query)
        numbers, scores = self.index.retrieve(*asked, k)
        if self.settings.impacts == "uint8":
            exact = self.store.products(asked, numbers)
            order = top_k(exact, k, ties=numbers)
            numbers, scores = numbers[order], exact[order]
        return numbers, scores

    def score(self, query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        """Return the dot product with each candidate, (n,) float32."""
        asked = self.encode_query(query)
        store, numbers = self._vectors(query, candidates)
        return store.products(asked, numbers)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / Σ importances: a longer query has no larger scores in a fusion."""
        total = float(self.encode_query(query).weights.sum())
        return 1 / total if total > 0 else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by all of the query's terms; see `explain_terms`."""
        asked = self.encode_query(query)
        store, (number,) = self._vectors(query, candidate)
        impacts = store.impacts(asked.terms, np.array([number]))[:, 0]
        limit = self.settings.max_document_tokens
        (read,), _ = self._queries.token_ids(candidate.texts, limit)
        field = self.settings.field or RANKER_FIELD + self._name
        vector = store.vector(number)
        found = explain_terms(asked, impacts, vector, set(read), self._spelling, field)
        pieces = max(0, len(read) - self._tokenizer.num_special_tokens_to_add(False))
        return replace(found, read=ReadSpans(field, ((0, pieces),)))

    def verify(self) -> None:
        """Check every number, and that both forms hold the same; BundleError names the fault."""
        name = f"EPIC {self._name}"
        self.store.verify(name, self.settings.vocabulary)
        self.index.verify(name)
        held = np.bincount(self.store.terms, minlength=self.settings.vocabulary)
        lost = held - np.diff(self.index.offsets)
        priorities = self.priorities()
        if not (np.isfinite(priorities) & (priorities > 0)).all():
            raise BundleError(f"{name}: the priority of a term is no number above 0")
        if (lost < 0).any() or (self.settings.impacts != "uint8" and lost.any()):
            raise BundleError(f"{name}: the index has other postings than the documents' vectors")
        self.encode_documents([""])

    @property
    def digest(self) -> str:
        """What tells these vectors from any other: the model's digest and the limits."""
        given, told = self.settings, sha256(self.priorities().tobytes()).hexdigest()
        return f"{self.document_encoder.digest} {given.max_document_tokens} {given.kept} {told}"

    def _vector(self, ids: Sequence[int], importances: NDArray[np.float32]) -> SparseQuery:
        terms, place = np.unique(np.array(ids, np.int32), return_inverse=True)
        weights = np.bincount(place, weights=importances).astype(np.float32)
        if weights.min() < 0 or terms[-1] >= self.settings.vocabulary:
            raise BundleError("the query encoder gave an impossible term or weight: damaged bundle")
        counted = weights > 0  # [CLS] and the like are no terms
        return SparseQuery(terms[counted], weights[counted])

    def _spelling(self, term: int) -> str:
        return self._tokenizer.id_to_token(term) or f"#{term}"

    def _vectors(
        self, query: QueryContext, candidates: Candidates
    ) -> tuple[SparseStore, NDArray[np.integer]]:
        """Return a store that holds the candidates, and their numbers in it."""
        if candidates.stored is not None:
            return self.store, candidates.stored
        found = self.encode_documents(candidates.texts)
        query.tell_cut(self._name, candidates, found.cut)
        return found.store, np.arange(len(candidates))

    def _collection(self) -> "BundleFiles":
        if self._bundle is None:
            raise BundleError("this ranker was opened without a bundle: it has no documents")
        self._bundle.need_collection()
        return self._bundle


RANKER = EPIC
SETTINGS = EPICSettings
