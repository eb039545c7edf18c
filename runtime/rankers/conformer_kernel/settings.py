"""The settings of rankers over word forms, which are the Conformer-Kernel and TK.

Explicit term matches are scored by a learned form of BM25 (Mitra et al., eq. 4).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.options import check_number, integer, number, one_of
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES

ARCHITECTURES = ("ndrm1", "ndrm2", "ndrm3")
FIELDS = ("words", "lemmas")
SCORERS = ("impacts", "onnx")

FRAME = 2  # <S> and </S>, which count as terms of a document
EPSILON = 1e-6  # against division by zero; the paper gives no value

Numbers = NDArray[np.floating | np.integer]


def rarity(df: Numbers, documents: int) -> NDArray[np.float32]:
    """Return the IDF of the authors' code, max(ln((N − df + ½) / (df + ½)), 0).

    >>> [f"{value:.3f}" for value in rarity(np.array([0, 1, 10]), 10)]
    ['3.045', '1.846', '0.000']
    """
    df = np.asarray(df, np.float64)
    return np.asarray(np.maximum(np.log((documents - df + 0.5) / (df + 0.5)), 0), np.float32)


@dataclass(frozen=True)
class TermSettings(Settings):
    """The input of a network over word forms; the default limits are those of Mitra et al.."""

    field: str = one_of("words", FIELDS, "terms of a text")
    max_query_terms: int = integer(20, "terms of a query", 1, 8192, flag="--max-query-tokens")
    max_document_terms: int = integer(
        4000, "terms of a document", 1, 1 << 20, flag="--max-document-tokens"
    )


@dataclass(frozen=True)
class ConformerKernelSettings(TermSettings):
    """The settings of a Conformer-Kernel ranker (Mitra et al.).

    Attributes:
        architecture: latent matching, explicit matching (eq. 4), or both (eq. 3).
        latent_weight: w1 of eq. 3 divided by the standard deviation of BatchNorm.
        explicit_weight: w2 of eq. 3, divided likewise.
        tf_mean, length_mean: E of BatchScale in eq. 4.
        length_weight, length_bias: w and b of eq. 4.
    """

    architecture: str = one_of(
        "ndrm3", ARCHITECTURES, "ndrm1 latent matching, ndrm2 explicit, ndrm3 both"
    )
    scorer: str = one_of("impacts", SCORERS, "score documents by impacts, or onnx, the network")
    latent_weight: float = 1.0
    explicit_weight: float = 1.0
    tf_mean: float = 1.0
    length_mean: float = 1.0
    length_weight: float = 1.0
    length_bias: float = 1.0
    terms: int = integer(1000, "impacts kept per document", 1, 1 << 24)
    candidates: int = integer(1200, "terms per document that are tried for them", 1, 1 << 24)
    floor: float = number(0.0, "quantile of a term's scores to count from", 0, 1)
    impacts: str = one_of("uint8", tuple(IMPACT_TYPES), "type of stored impacts")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("latent_weight", "explicit_weight", "length_weight", "length_bias"):
            check_number(name, getattr(self, name), -1e6, 1e6)
        for name in ("tf_mean", "length_mean"):
            check_number(name, getattr(self, name), 0, 1e9)

    @property
    def latent(self) -> bool:
        """Whether there is latent matching, by a network."""
        return self.architecture != "ndrm2"

    @property
    def explicit(self) -> bool:
        """Whether there is explicit matching."""
        return self.architecture != "ndrm1"

    @property
    def per_pair(self) -> bool:
        """Whether the network scores stored documents, so that the index only finds them."""
        return self.scorer == "onnx" and self.latent

    def matches(self, tf: Numbers, length: Numbers, idf: Numbers) -> NDArray[np.float32]:
        """Return w2 · IDF · BS(TF) / (BS(TF) + ReLU(w · BS(|d|) + b) + ε) (Mitra et al., eq. 4).

        BS(x) = x / (E[x] + ε), with the means of the training data; |d| has <S> and </S>, too. The
        function is BM25's saturation with k1 · b = E[TF] · weight and k1 (1 − b) = E[TF] · bias, if
        the lengths there have them, too.

        Args:
            tf: occurrences of the term in a document.
            length: number of terms in that document, without <S> and </S>. All arrays are
                broadcast.
            idf: the term's idf, ≥ 0.

        >>> learned = ConformerKernelSettings(length_mean=10.0, length_weight=0.0)
        >>> scores = learned.matches(np.array([0, 1, 3]), np.array([10.0]), np.array([2.0]))
        >>> [f"{score:.2f}" for score in scores]
        ['0.00', '1.00', '1.50']
        """
        scaled = np.asarray(tf, np.float32) / np.float32(self.tf_mean + EPSILON)
        relative = (np.asarray(length, np.float32) + FRAME) / np.float32(self.length_mean + EPSILON)
        norm = np.float32(self.length_weight) * relative + np.float32(self.length_bias)
        norm = np.maximum(norm, 0) + np.float32(EPSILON)
        matches = np.asarray(idf, np.float32) * scaled / (scaled + norm)
        return np.asarray(matches * np.float32(self.explicit_weight), np.float32)
