"""Turn queries into vectors by a table with one vector per token, which learned from a network.

Documents are encoded by the network, and queries need only the rows of their tokens, so neither
onnxruntime nor the time that it takes to load. A text's vector is Σ T[token], at the length 1, so a
score is exactly a sum over the tokens of the query.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.onnx.encoder import TOKENIZER, Encoded
from ranklet.runtime.text.tokenizing import TextToken, encode_batch, text_tokens

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer

# Its files, in rankers/NAME/query/. Its tokenizer is there, too, if documents have another one.
QUERIES = "query/"  # the folder, below rankers/NAME/, of what encodes queries alone
ROWS = "rows.npy"  # T without its factors, (vocabulary, dimension) int8
SCALES = "scales.npy"  # > 0, the factor of each row, (vocabulary,) float32
FILES = (ROWS, SCALES)


class QueryTable:
    """Encodes queries by the rows of their tokens, without special tokens and prompts.

    Args:
        rows: T without its factors, (vocabulary, dimension) int8.
        scales: the factor of each row, (vocabulary,) float32.
        tokenizer: the tokenizer of the network that it learned from.
    """

    provider = ""  # nothing runs

    def __init__(
        self, rows: NDArray[np.int8], scales: NDArray[np.float32], tokenizer: "Tokenizer"
    ) -> None:
        self._rows, self._scales, self.tokenizer = rows, scales, tokenizer

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
        shared = (own if bundle.has(own + TOKENIZER) else folder) + TOKENIZER
        return cls(rows, scales, bundle.tokenizer(shared, plain=True))

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:  # noqa: ARG002
        """Encode queries; one without a token gets a vector of zeros.

        Args:
            texts: texts of any length, without a prompt.
            max_tokens: longer texts are truncated to so many tokens.
            segment: this encoder does not use it.

        Raises:
            BundleError: a token has no row, or the vector is not finite.
        """
        vectors = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        longer = []
        for index, text in enumerate(encode_batch(self.tokenizer, texts)):
            total = self._of_tokens(text.ids[:max_tokens]).sum(0)
            vectors[index] = total / _length(total)
            if len(text.ids) > max_tokens:
                longer.append(index)
        return Encoded(vectors, longer)

    def shares(self, text: str, max_tokens: int) -> tuple[list[TextToken], NDArray[np.float64]]:
        """Return the tokens of a query, and what each adds to its vector, (tokens, dimension)."""
        tokens = text_tokens(self.tokenizer, text, max_tokens, special=False)
        return tokens, self._shares([token.id for token in tokens])

    def _shares(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return what each token adds to a vector of length 1, (tokens, dimension)."""
        rows = self._of_tokens(tokens)
        return rows / _length(rows.sum(0))

    def _of_tokens(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the rows of tokens with their scales, (tokens, dimension) float64."""
        ids = np.array(tokens, np.intp)
        try:
            return np.multiply(self._rows[ids], self._scales[ids, None], dtype=np.float64)
        except IndexError:
            raise BundleError(
                f"the table of queries has {len(self._rows):,} rows, but the tokenizer has the "
                f"token {ids.max()}. The bundle is damaged: run `ranklet verify`"
            ) from None

    def verify(self, name: str) -> None:
        """Check every number, and that each token has a row; a BundleError begins with `name`."""
        if not np.isfinite(self._scales).all():
            raise BundleError(f"{name}: a factor of the table of queries is not finite")
        if len(self._rows) < self.tokenizer.get_vocab_size():
            raise BundleError(
                f"{name}: the table of queries has {len(self._rows):,} rows, but the tokenizer has "
                f"{self.tokenizer.get_vocab_size():,} tokens"
            )


def _length(vector: NDArray[np.float64]) -> float:
    """Return the length of a vector, and 1 for that of zeros.

    Raises:
        BundleError: it is not finite.
    """
    length = math.sqrt(vector @ vector)
    if not math.isfinite(length):
        raise damaged("a query's vector is not finite")
    return length or 1.0
