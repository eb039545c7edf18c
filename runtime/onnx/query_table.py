"""Turn queries into vectors by a table with one vector per token, which learned from a network.

Documents are encoded by the network, and queries need only the rows of their tokens, so neither
onnxruntime nor a second or two for loading it. A text's vector is q = n(n(Σ T[token]) + b), where
n(x) = x / |x|. It is linear but for its two lengths, so a score is a sum over tokens, and b's part.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded
from ranklet.runtime.text.tokenizing import TextToken, encode_batch, text_tokens

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer

# Its files, in rankers/NAME/query/. Its tokenizer is there, too, if documents have another one.
QUERIES = "query/"  # the folder, below rankers/NAME/, of what encodes queries alone
ROWS = "rows.npy"  # T, (vocabulary, dimension) int8
SCALES = "scales.npy"  # > 0, the factor of each row, (vocabulary,) float32
CONSTANT = "constant.npy"  # b, (dimension,) float32
FILES = (ROWS, SCALES, CONSTANT)


class QueryShares(NamedTuple):
    """What a query's vector is made of; all of it together is the vector."""

    tokens: list[TextToken]  # those that are read
    of_tokens: NDArray[np.float64]  # what each token adds, (tokens, dimension)
    constant: NDArray[np.float64]  # what every query has in common, (dimension,)


class QueryTable:
    """Encodes queries by the rows of their tokens, without special tokens and prompts.

    Args:
        rows: T without its scales, (vocabulary, dimension) int8 or float32.
        scales: the factor of each row, (vocabulary,) float32.
        constant: b, (dimension,) float32.
        tokenizer: the tokenizer of the network that it learned from.
    """

    provider = ""  # nothing runs

    def __init__(
        self,
        rows: NDArray[np.int8 | np.float32],
        scales: NDArray[np.float32],
        constant: NDArray[np.float32],
        tokenizer: "Tokenizer",
    ) -> None:
        self._rows, self._scales, self._constant = rows, scales, constant
        self.tokenizer = tokenizer

    @classmethod
    def open(cls, bundle: "BundleFiles", folder: str, dimension: int) -> "QueryTable":
        """Open a table of a bundle.

        Args:
            bundle: the bundle with the table.
            folder: of the ranker.
            dimension: of the vectors.

        Raises:
            BundleError: a file is missing, or of another type or shape.
        """
        own = folder + QUERIES
        rows = bundle.array(own + ROWS, np.int8, (None, dimension))
        scales = bundle.array(own + SCALES, np.float32, (len(rows),))
        constant = bundle.array(own + CONSTANT, np.float32, (dimension,))
        shared = (own if bundle.has(own + TOKENIZER) else folder) + TOKENIZER
        return cls(rows, scales, constant, bundle.tokenizer(shared, plain=True))

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:  # noqa: ARG002
        """Encode queries; one without a token gets what all have in common.

        Args:
            texts: texts of any length, without a prompt.
            max_tokens: longer texts are truncated to so many tokens.
            segment: this encoder does not use it.

        Raises:
            BundleError: a token has no row, or the vector is not finite.
        """
        split = [text.ids for text in encode_batch(self.tokenizer, texts)]
        vectors = [self._vector(np.array(ids[:max_tokens], np.int64)) for ids in split]
        longer = [at for at, ids in enumerate(split) if len(ids) > max_tokens]
        shape = (len(texts), len(self._constant))
        return Encoded(np.array(vectors, np.float32).reshape(shape), longer)

    def shares(self, text: str, max_tokens: int) -> QueryShares:
        """Return what each token of a query adds to its vector; see `encode`."""
        tokens = text_tokens(self.tokenizer, text, max_tokens, special=False)
        rows = self._of_tokens(np.array([token.id for token in tokens], np.int64))
        constant = self._constant.astype(np.float64)
        rows = rows / _length(rows.sum(0))
        length = _length(rows.sum(0) + constant)
        return QueryShares(tokens, rows / length, constant / length)

    def _vector(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        total = self._of_tokens(ids).sum(0)
        moved = total / _length(total) + self._constant
        if not np.isfinite(moved).all():
            raise BundleError("a query's vector is not finite. The bundle is damaged: run `ranklet "
                              "verify`")  # fmt: skip
        vector: NDArray[np.float64] = moved / _length(moved)
        return vector

    def _of_tokens(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rows of tokens with their scales, (tokens, dimension) float64."""
        if len(ids) and ids.max() >= len(self._rows):
            raise BundleError(
                f"the table of queries has {len(self._rows):,} rows, but the tokenizer has the "
                f"token {ids.max()}. The bundle is damaged: run `ranklet verify`"
            )
        return self._rows[ids].astype(np.float64) * self._scales[ids, None]

    def verify(self, name: str) -> None:
        """Check every number, and that each token has a row; a BundleError begins with `name`."""
        if not (np.isfinite(self._scales).all() and np.isfinite(self._constant).all()):
            raise BundleError(f"{name}: a number of the table of queries is not finite")
        if len(self._rows) < self.tokenizer.get_vocab_size():
            raise BundleError(
                f"{name}: the table of queries has {len(self._rows):,} rows, but the tokenizer has "
                f"{self.tokenizer.get_vocab_size():,} tokens"
            )


def _length(vector: NDArray[np.float64]) -> float:
    """Return |x|, or 1 for a vector of zeros, which has no direction."""
    return float(np.sqrt(vector @ vector)) or 1.0
