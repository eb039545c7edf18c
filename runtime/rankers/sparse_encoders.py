"""Encode texts as sparse vectors over word pieces, for all learned sparse rankers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES
from ranklet.runtime.lexical.sparse_store import MOST_TERMS, SparseRows, prune
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded, Encoder, open_encoder
from ranklet.runtime.options import check_options, integer, one_of
from ranklet.runtime.storage.arrays import id_type

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.bundles.files import BundleFiles

# Names of the graphs' inputs, each (batch, tokens) int64.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PRIORITIES = "priorities.npy"  # one per term, for pruning; > 0, (vocabulary,) float32

AT_A_TIME = 64  # documents whose whole vectors are in memory until they are pruned; 8 MB for BERT


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
        check_options(self)
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
