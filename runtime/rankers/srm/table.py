"""The table of sub-embeddings in 8 bits; only the rows of the tokens that are read are touched."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, damaged
from ranklet.runtime.rankers.srm.settings import TABLE, TABLE_SCALES, SRMSettings

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

_CHECKED = 1 << 14  # tokens whose factors are checked at a time


class SubEmbeddings:
    """Sub-embedding k of token t is ``scales[t, k] * values[t, k]``.

    Args:
        values: (vocabulary, K, dimension) int8, usually mapped.
        scales: > 0, (vocabulary, K) float32.
    """

    def __init__(self, values: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
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
        """Return the sub-embeddings of tokens, (tokens, K, dimension) float32.

        Raises:
            BundleError: a token has no row.
        """
        self.check(ids)
        return np.asarray(self.values[ids] * self.scales[ids][:, :, None])

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
        if len(ids) and ids.max() >= len(self.values):
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
