"""Turn texts into vectors by a table with one vector per token, which needs no onnxruntime.

Such static embeddings are distilled from a sentence encoder (model2vec) or trained on their own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.encoder import Encoded
from ranklet.runtime.text.tokenizing import TextToken, encode_batch, text_tokens

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer


class TokenTable:
    """Encodes a text as the mean of the vectors of its tokens, without special tokens.

    Args:
        table: (vocabulary, dimension) float32, float16 or int8.
        tokenizer: the tokenizer of the model.
        digest: sha256 of the table's file.
        normalise: whether vectors get the length 1.
        scales: the factor of each row, (vocabulary,) float32; None for 1.
    """

    provider = ""
    has_states = True

    def __init__(
        self,
        table: NDArray[Any],
        tokenizer: "Tokenizer",
        digest: str = "",
        *,
        normalise: bool,
        scales: NDArray[np.float32] | None = None,
    ) -> None:
        self._table, self.tokenizer, self._scales = table, tokenizer, scales
        self.digest, self._normalise = digest, normalise

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:  # noqa: ARG002
        """Encode texts; a text without a token gets a vector of zeros.

        Args:
            texts: texts of any length.
            max_tokens: longer texts are truncated to so many tokens.
            segment: this encoder does not use it.

        Raises:
            BundleError: a token has no row in the table.
        """
        encoded = encode_batch(self.tokenizer, texts)
        vectors = np.zeros((len(texts), self._table.shape[1]), np.float32)
        longer = []
        for index, text in enumerate(encoded):
            ids = np.array(text.ids[:max_tokens], np.int64)
            if len(text.ids) > max_tokens:
                longer.append(index)
            if not len(ids):
                continue
            vectors[index] = self._rows(ids).mean(0, dtype=np.float32)
        if self._normalise:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(lengths, lengths, 1)
        return Encoded(vectors, longer)

    def states(
        self,
        text: str,
        max_tokens: int,
        segment: int,  # noqa: ARG002
    ) -> tuple[list[TextToken], NDArray[np.float32]]:
        """Return the tokens that are read of a text and their vectors; see `encode`."""
        tokens = text_tokens(self.tokenizer, text, max_tokens, special=False)
        return tokens, self._rows(np.array([token.id for token in tokens], np.int64))

    def _rows(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of tokens, (tokens, dimension) float32."""
        if len(ids) and ids.max() >= len(self._table):
            raise BundleError(
                f"the table has {len(self._table):,} rows, but the tokenizer has the token "
                f"{ids.max()}. The bundle is damaged: run `ranklet verify`"
            )
        rows = self._table[ids]
        return rows if self._scales is None else rows * self._scales[ids, None]

    def verify(self, name: str) -> None:
        """Check every number, and that each token has a row; a BundleError begins with `name`."""
        scales = np.ones(1, np.float32) if self._scales is None else self._scales
        if not (np.isfinite(self._table).all() and np.isfinite(scales).all()):
            raise BundleError(f"{name}: a token's vector is not finite")
        if len(self._table) < self.tokenizer.get_vocab_size():
            raise BundleError(
                f"{name}: the table has {len(self._table):,} rows, but the tokenizer has "
                f"{self.tokenizer.get_vocab_size():,} tokens"
            )
