"""Turn texts into vectors by a table with one vector per token, which needs no onnxruntime.

Such static embeddings are distilled from a sentence encoder (model2vec) or trained on their own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.onnx.encoder import Encoded
from ranklet.runtime.text.analysis import encodable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenTable:
    """Encodes a text as the mean of the vectors of its tokens, without special tokens.

    Args:
        table: (vocabulary, dimension) float32 or float16.
        tokenizer: its tokenizer.
        digest: sha256 of the table's file.
        normalise: whether vectors get the length 1.
    """

    provider = ""

    def __init__(
        self,
        table: NDArray[np.floating],
        tokenizer: "Tokenizer",
        digest: str = "",
        *,
        normalise: bool,
    ) -> None:
        self._table, self._tokenizer = table, tokenizer
        self.digest, self._normalise = digest, normalise

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:  # noqa: ARG002
        """Encode texts; a text without a token gets a vector of zeros.

        Args:
            texts: texts of any length.
            max_tokens: longer texts are truncated to so many tokens.
            segment: not used.

        Raises:
            BundleError: a token has no row in the table.
        """
        encoded = self._tokenizer.encode_batch([*map(encodable, texts)], add_special_tokens=False)
        vectors = np.zeros((len(texts), self._table.shape[1]), np.float32)
        longer = []
        for index, text in enumerate(encoded):
            ids = np.array(text.ids[:max_tokens], np.int64)
            if len(text.ids) > max_tokens:
                longer.append(index)
            if not len(ids):
                continue
            if ids.max() >= len(self._table):
                raise BundleError(
                    f"the table has {len(self._table):,} rows, but the tokenizer has the token "
                    f"{ids.max()}. The bundle is damaged: run `ranklet verify`"
                )
            vectors[index] = self._table[ids].mean(0, dtype=np.float32)
        if self._normalise:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(lengths, lengths, 1)
        return Encoded(vectors, longer)
