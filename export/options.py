"""Options of an export."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ranklet.export.onnx.openvino_int8 import need_packages
from ranklet.export.proof.report import EXACT, HALF, Tolerance
from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.sparse_store import MOST_TERMS
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.data.probes import Probes


@dataclass(frozen=True)
class ExportOptions:
    """How neural rankers are exported; lexical rankers have no options.

    Attributes:
        variants: any of fp32, fp16, int8 and openvino.
        probes: texts that the variants are proven on; None for the checkpoint's own.
        max_ndcg_loss: largest relative loss of nDCG@10 that a variant may have.
        max_mb: largest size of a variant's file, in 10⁶ bytes; None for any.
        prune: r, the number of values kept of a learned sparse vector, at most `MOST_TERMS`; None
            for the smallest that loses next to nothing on the probes.
        settings: values by name that replace a checkpoint's; see `Exporter.settings`.
    """

    variants: tuple[str, ...] = ("fp32", "int8")
    probes: Probes | None = None
    max_ndcg_loss: float = 0.01
    max_mb: float | None = None
    prune: int | None = 1000
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.variants if name not in VARIANTS]
        if unknown or not self.variants:
            raise InputError(
                f"variants are {', '.join(self.variants) or 'none'}; "
                f"allowed are {', '.join(VARIANTS)}"
            )
        if "openvino" in self.variants:
            need_packages()
        if not 0 <= self.max_ndcg_loss <= 1:
            raise InputError(f"max_ndcg_loss is {self.max_ndcg_loss}; it must be from 0 to 1")
        if self.max_mb is not None and not 0 < self.max_mb < float("inf"):
            raise InputError(f"max_mb is {self.max_mb}; it must be above 0, or None for any size")
        if self.prune is not None and (
            type(self.prune) is not int or not 1 <= self.prune <= MOST_TERMS
        ):
            raise InputError(
                f"prune is {self.prune!r}; it must be a whole number from 1 to {MOST_TERMS}, or "
                "auto"
            )

    def tolerance(self, variant: str) -> Tolerance:
        """Return the limits that a variant must stay within."""
        known = {"fp32": EXACT, "fp16": replace(HALF, max_ndcg_loss=self.max_ndcg_loss)}
        return known.get(variant, Tolerance(max_ndcg_loss=self.max_ndcg_loss))
