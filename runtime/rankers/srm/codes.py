"""Documents stored as codes: token ids, and the weights of their sub-embeddings in 8 bits.

A code becomes a vector by sums in a fixed order, and the vector is scored as one that is stored in
16 bits. So a document has the same score to the bit, whatever it is scored with.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.maxsim import (
    MaxSimStore,
    Products,
    Quantised,
    Span,
    inner_products,
    quantise,
)
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.rankers.srm.settings import TABLE, TABLE_SCALES, SRMSettings

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles


LEVELS = 255  # the largest weight in 8 bits
ELEMENT = "int16"  # what decoded vectors are rounded to
DECODED = 4096  # vectors that are decoded at a time
LEAST_LENGTH = 1e-12  # a shorter vector keeps its length, as in PyTorch's normalize
_MARKED = 1024  # documents whose codes are looked up at a time

_CHECKED = 1 << 14  # tokens whose factors are checked at a time


class Codes(NamedTuple):
    """The codes of some tokens."""

    tokens: NDArray[np.integer]  # their ids, (tokens,)
    weights: NDArray[np.uint8]  # (tokens, `SRMSettings.code_width`)

    def at(self, spans: Sequence[Span]) -> "Codes":
        """Return the codes in some spans, end to end."""
        if not spans:
            return Codes(self.tokens[:0], self.weights[:0])
        return Codes(*(np.concatenate([each[begin:end] for begin, end in spans]) for each in self))


def code_weights(
    weights: NDArray[np.float32] | None, count: int, settings: SRMSettings
) -> NDArray[np.uint8]:
    """Return weights in 8 bits, (tokens, `code_width`).

    Args:
        weights: the weights of the sub-embeddings, (tokens, K) float32; None if they all have the
            same.
        count: number of tokens.
        settings: the ranker's settings.
    """
    if weights is None or not settings.code_width:
        return np.empty((count, 0), np.uint8)
    if settings.mixing == "top1":
        return np.asarray(weights.argmax(1, keepdims=True).astype(np.uint8))
    largest = weights.max(1, keepdims=True, initial=np.finfo(np.float32).tiny)
    # A vector's length is lost by the cosine anyway, so each token can use all levels.
    most = largest if settings.similarity == "cosine" else 1.0
    return np.asarray(np.rint(weights / most * LEVELS).clip(0, LEVELS).astype(np.uint8))


def normalised(vectors: NDArray[np.float32], settings: SRMSettings) -> NDArray[np.float32]:
    """Return vectors of the length 1 if the similarity is the cosine."""
    if settings.similarity != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, LEAST_LENGTH))


class SubEmbeddings:
    """Sub-embedding k of token t is ``scales[t, k] * values[t, k]``.

    Args:
        values: (vocabulary, K, dimension) int8, usually mapped.
        scales: > 0, (vocabulary, K) float32.
    """

    def __init__(self, values: NDArray[Any], scales: NDArray[np.float32]) -> None:
        self.values, self.scales = values, scales

    @classmethod
    def open(cls, bundle: "BundleFiles", folder: str, settings: SRMSettings) -> "SubEmbeddings":
        """Map the table of a bundle's ranker, which is a model and so is fetched whole.

        Raises:
            BundleError: a file is missing, or of another type or shape.
        """
        count, size = settings.sub_embeddings, settings.dimension
        values = bundle.array(folder + TABLE, np.int8, (None, count, size), whole=True)
        shape = (len(values), count)
        return cls(values, bundle.array(folder + TABLE_SCALES, np.float32, shape, whole=True))

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the sub-embeddings of tokens, (…, K, dimension) float32; ids are (…).

        Raises:
            BundleError: a token has no row.
        """
        self.check(ids)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.values[ids] * self.scales[ids][..., None])

    def mixed(self, ids: NDArray[np.integer], weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return Σ_k a_i^k s_i^k (eq. 8.3), (tokens, dimension) float32.

        Numbers are added one sub-embedding after the other, so that the vector of a token has the
        same bits whatever it is computed with.

        Args:
            ids: the tokens' ids, (tokens,).
            weights: a_i^k, (tokens, K) float32.

        Raises:
            BundleError: a token has no row.
        """
        self.check(ids)
        factors = weights * self.scales[ids]
        total = np.zeros((len(ids), self.values.shape[2]), np.float32)
        for each in range(self.values.shape[1]):
            total += self.values[ids, each] * factors[:, each, None]
        return total

    def chosen(self, ids: NDArray[np.integer], which: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return one sub-embedding of each token, (tokens, dimension) float32.

        Raises:
            BundleError: a token has no row.
        """
        self.check(ids)
        return np.asarray(self.values[ids, which] * self.scales[ids, which][:, None])

    def check(self, ids: NDArray[np.integer]) -> None:
        """Raise BundleError if a token has no row."""
        if ids.size and ids.max() >= len(self.values):
            raise damaged(f"the table has {len(self.values):,} rows, but there is a {ids.max()}")

    def verify(self, name: str, vocabulary: int) -> None:
        """Check every factor, and that each token has a row; a BundleError begins with `name`."""
        for begin in range(0, len(self.scales), _CHECKED):
            block = self.scales[begin : begin + _CHECKED]
            if not (np.isfinite(block) & (block > 0)).all():
                raise BundleError(f"{name}: a factor in {TABLE_SCALES} is not finite and above 0")
        if len(self) < vocabulary:
            raise BundleError(
                f"{name}: {TABLE} has {len(self):,} rows, but the tokenizer has {vocabulary:,} "
                "tokens"
            )


class Decoder:
    """Turns codes into vectors.

    Args:
        settings: the ranker's settings.
        table: the table of the sub-embeddings.
    """

    def __init__(self, settings: SRMSettings, table: SubEmbeddings) -> None:
        self.settings, self.table = settings, table

    def vectors(self, codes: Codes) -> Quantised:
        """Return the vectors of tokens as whole numbers of 16 bits.

        Raises:
            BundleError: a code is not in the table, or a vector is not finite.
        """
        settings = self.settings
        with np.errstate(over="ignore", invalid="ignore"):
            if settings.code_width == 1:
                vectors = self.table.chosen(codes.tokens, codes.weights[:, 0])
            elif settings.code_width:
                vectors = self.table.mixed(codes.tokens, codes.weights * np.float32(1 / LEVELS))
            else:
                shape = len(codes.tokens), settings.sub_embeddings
                equal = np.full(shape, 1 / settings.sub_embeddings, np.float32)
                vectors = self.table.mixed(codes.tokens, equal)
            vectors = normalised(vectors, settings)
            lengths = np.linalg.norm(vectors, axis=1)
        if not np.isfinite(lengths).all():
            raise damaged("a token's vector is not finite")
        return quantise(vectors, ELEMENT)

    @property
    def has_numbers(self) -> bool:
        """Whether a code is one of few, so that tokens share vectors."""
        return self.settings.code_width <= 1

    def numbers(self, codes: Codes) -> NDArray[np.int64]:
        """Return a number for each code, below `count`.

        Raises:
            BundleError: a code is not in the table.
        """
        tokens = codes.tokens.astype(np.int64)
        self.table.check(codes.tokens)
        if self.settings.code_width:
            self.check_chosen(codes.weights)
            tokens = tokens * self.settings.sub_embeddings + codes.weights[:, 0]
        return tokens

    def check_chosen(self, chosen: NDArray[np.uint8]) -> None:
        """Raise BundleError if the number of a sub-embedding is past the last one."""
        if chosen.size and chosen.max() >= self.settings.sub_embeddings:
            raise damaged(f"a token has the sub-embedding {chosen.max()}, which the table lacks")

    @property
    def count(self) -> int:
        """How many codes there are."""
        return len(self.table) * (self.settings.sub_embeddings if self.settings.code_width else 1)

    def of_numbers(self, numbers: NDArray[np.int64]) -> Codes:
        """Return the codes of some numbers."""
        if not self.settings.code_width:
            return Codes(numbers, np.empty((len(numbers), 0), np.uint8))
        tokens, which = np.divmod(numbers, self.settings.sub_embeddings)
        return Codes(tokens, which.astype(np.uint8)[:, None])


class CodeStore(MaxSimStore):
    """The codes of documents, end to end, in memory or memory-mapped.

    Args:
        offsets: codes of document d are at ``offsets[d]:offsets[d + 1]``, (documents + 1,) int64.
        codes: the codes of all documents.
        decoder: makes their vectors.
    """

    def __init__(self, offsets: NDArray[np.int64], codes: Codes, decoder: Decoder) -> None:
        super().__init__(offsets)
        self.codes, self.decoder = codes, decoder

    @property
    def columns(self) -> Sequence[NDArray[Any]]:
        """The ids of the tokens and their weights."""
        return self.codes

    def products(
        self,
        query: Quantised,
        spans: Sequence[Span],
        rows: int,  # noqa: ARG002
    ) -> Products:
        """Return a function that decodes the spans' vectors; see `MaxSimStore.products`.

        If tokens share vectors, each of these is decoded once.
        """
        decoder = self.decoder
        if not decoder.has_numbers:
            return lambda own: inner_products(query, decoder.vectors(self.codes.at(own)))
        seen = np.zeros(decoder.count, np.bool_)
        for begin in range(0, len(spans), _MARKED):
            seen[decoder.numbers(self.codes.at(spans[begin : begin + _MARKED]))] = True
        numbers = np.flatnonzero(seen)
        places = np.cumsum(seen) - 1
        products = np.empty((len(query.values), len(numbers)), np.float32)
        for begin in range(0, len(numbers), DECODED):
            block = slice(begin, begin + DECODED)
            vectors = decoder.vectors(decoder.of_numbers(numbers[block]))
            products[:, block] = inner_products(query, vectors)

        def of(own: Sequence[Span]) -> NDArray[np.float32]:
            found = places[decoder.numbers(self.codes.at(own))]
            return products[:, found]

        return of
