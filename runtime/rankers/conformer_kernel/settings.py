"""What was chosen for a ranker over word forms: for a TK, and for a Conformer-Kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.impact_index import IMPACT_TYPES
from ranklet.runtime.rankers.conformer_kernel.explicit_match import term_match
from ranklet.runtime.storage.checks import Settings, check_integer, check_number, check_one_of

ARCHITECTURES = ("ndrm1", "ndrm2", "ndrm3")
FIELDS = ("words", "lemmas")
SCORERS = ("impacts", "onnx")


@dataclass(frozen=True)
class TermSettings(Settings):
    """What a network over word forms reads.

    Attributes:
        field: words or lemmas.
        max_query_terms: longer queries are cut (paper 002: 20).
        max_document_terms: longer documents are cut (paper 002: 4,000).
    """

    field: str = "words"
    max_query_terms: int = 20
    max_document_terms: int = 4000

    def __post_init__(self) -> None:
        """Check every value."""
        check_one_of("field", self.field, FIELDS)
        check_integer("max_query_terms", self.max_query_terms, 1, 8192)
        check_integer("max_document_terms", self.max_document_terms, 1, 1 << 20)


@dataclass(frozen=True)
class ConformerKernelSettings(TermSettings):
    """What a Conformer-Kernel ranker is made of.

    Attributes:
        architecture: ndrm1, latent matching; ndrm2, explicit matching (paper 002, eq. 4); ndrm3,
            both (eq. 3).
        scorer: of stored documents: impacts, or onnx, the network itself.
        latent_weight: w1 of eq. 3 over the standard deviation of BatchNorm.
        explicit_weight: w2 likewise.
        tf_mean, length_mean: E of eq. 4's BatchScale.
        length_weight, length_bias: w and b of eq. 4.
        terms: impacts kept a document, its largest.
        candidates: terms a document that impacts are computed for: its own, then likely ones.
        floor: quantile of a term's latent scores that its impacts are counted from.
        impacts: how they are stored: uint8, float16 or float32.
        overlap: share of the network's 10 best that the impacts find, as measured at build.
        truncated: documents of the collection that were longer than the limit.
    """

    architecture: str = "ndrm3"
    scorer: str = "impacts"
    latent_weight: float = 1.0
    explicit_weight: float = 1.0
    tf_mean: float = 1.0
    length_mean: float = 1.0
    length_weight: float = 1.0
    length_bias: float = 1.0
    terms: int = 300
    candidates: int = 600
    floor: float = 0.25
    impacts: str = "uint8"
    overlap: float = 1.0
    truncated: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        check_one_of("architecture", self.architecture, ARCHITECTURES)
        check_one_of("scorer", self.scorer, SCORERS)
        check_one_of("impacts", self.impacts, tuple(IMPACT_TYPES))
        check_integer("terms", self.terms, 1, 1 << 24)
        check_integer("candidates", self.candidates, 1, 1 << 24)
        check_integer("truncated", self.truncated, 0, 1 << 32)
        for name in ("latent_weight", "explicit_weight", "length_weight", "length_bias"):
            check_number(name, getattr(self, name), -1e6, 1e6)
        for name in ("tf_mean", "length_mean"):
            check_number(name, getattr(self, name), 0, 1e9)
        check_number("floor", self.floor, 0, 1)
        check_number("overlap", self.overlap, 0, 1)

    @property
    def latent(self) -> bool:
        """True if and only if there is a network."""
        return self.architecture != "ndrm2"

    @property
    def explicit(self) -> bool:
        """True if and only if there is explicit matching."""
        return self.architecture != "ndrm1"

    @property
    def per_pair(self) -> bool:
        """True if stored documents meet the network; its index then only finds them."""
        return self.scorer == "onnx" and self.latent

    def matches(self, tf: Any, length: Any, idf_of: Any) -> NDArray[np.float32]:
        """Return w2 · eq. 4, of shapes that fit together."""
        found = term_match(
            tf,
            length,
            idf_of,
            tf_mean=self.tf_mean,
            length_mean=self.length_mean,
            weight=self.length_weight,
            bias=self.length_bias,
        )
        return np.asarray(found * np.float32(self.explicit_weight))
