"""Options of an export."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ranklet.corpus.collections.probes import Probes
from ranklet.export.onnx.openvino_int8 import need_packages
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    as_list,
    check_type,
    integer,
    number,
    read_from,
    read_names,
)
from ranklet.runtime.lexical.sparse_store import MOST_TERMS
from ranklet.runtime.onnx.encoder import VARIANTS


@dataclass(frozen=True)
class Tolerance:
    """The limits that a variant must stay within.

    Attributes:
        max_ndcg_loss: largest relative loss of nDCG@10 against PyTorch; a larger one counts only if
            it is significant, see `SIGNIFICANT`.
        min_overlap: smallest share of PyTorch's top 10 that the variant has, mean over queries.
        max_error: largest difference of a score, as a share of the standard deviation of PyTorch's
            scores.
        max_batch_error: largest difference between a document's scores alone and among others, as a
            share of the standard deviation of PyTorch's scores.
    """

    max_ndcg_loss: float = 0.01
    min_overlap: float = 0.8
    max_error: float = 3.0
    max_batch_error: float = 0.01


# An fp32 graph is the same computation in another order, so any larger difference is a fault. The
# largest error is what is bounded; documents whose scores differ by less may change their places.
EXACT = Tolerance(max_ndcg_loss=0.001, min_overlap=0.95, max_error=0.01, max_batch_error=0.001)
# 16 bits and 8 bits round every number. The largest error of tens of thousands of pairs is up to
# 0.5 of the scores' standard deviation in 16 bits, and up to 1.4 in 8 bits (benchmarks/RESULTS.md).
# Whatever is wrong in a graph before that is found in 32 bits, see `export_proven`.
HALF = Tolerance(max_error=1.0)


@dataclass(frozen=True)
class ExportOptions(Checked):
    """How neural rankers are exported; lexical rankers have no options.

    Attributes:
        variants: any of fp32, fp16, int8 and openvino.
        probes: texts that the variants are proven on; None for the checkpoint's own.
        max_ndcg_loss: largest relative loss of nDCG@10 that a variant may have.
        max_mb: largest size of a variant's file, in 10⁶ bytes; None for any.
        prune: r, the number of values kept of a learned sparse vector, at most `MOST_TERMS`.
        settings: values by name that replace a checkpoint's; see `Exporter.settings`.
    """

    GROUP = "variants"

    variants: tuple[str, ...] = read_from(
        ("fp32", "int8"),
        "comma-separated variants to write, of fp32, fp16 (for GPUs), int8 and openvino (for CPUs; "
        "openvino is faster and needs packages) (default: fp32,int8; of hub fp32,fp16,int8)",
        read_names,
    )
    probes: Probes | None = None
    max_ndcg_loss: float = number(
        0.01, "maximum relative loss of nDCG@10 against PyTorch; a larger one counts only if it is "
        "significant", 0, 1
    )  # fmt: skip
    max_mb: float | None = number(
        None, "maximum size of a variant's file in MB (default: any)", 1e-6
    )
    prune: int = integer(
        1000, "sparse vectors: number of values to keep per document", 1, MOST_TERMS
    )
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        as_list(self.variants, "variants", "such as ('fp32', 'int8')")
        check_type("settings", self.settings, Mapping)
        unknown = [name for name in self.variants if name not in VARIANTS]
        if unknown or not self.variants or len({*self.variants}) < len(self.variants):
            raise InputError(
                f"variants are {', '.join(filter(None, self.variants)) or 'none'}; "
                f"allowed are {', '.join(VARIANTS)}, each once"
            )
        if "openvino" in self.variants:
            need_packages()

    def tolerance(self, variant: str) -> Tolerance:
        """Return the limits that a variant must stay within."""
        known = {"fp32": EXACT, "fp16": replace(HALF, max_ndcg_loss=self.max_ndcg_loss)}
        return known.get(variant, Tolerance(max_ndcg_loss=self.max_ndcg_loss))
