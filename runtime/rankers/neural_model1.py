"""Neural Model 1, sparsified: the scorer is Model 1's, the table is what a network computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranklet.runtime.rankers.model1 import Model1
from ranklet.runtime.rankers.model1 import Settings as Model1Settings


@dataclass(frozen=True)
class Settings(Model1Settings):
    """What a neural Model 1 is made of: as Model 1, over word pieces.

    Attributes:
        field: wordpieces, the only field it is defined over.
        p_self: T(t|t); the network's T(q|d) are multiplied by 1 − p_self.
        lambda_: weight of the collection's own probability.
    """

    field: str = "wordpieces"
    p_self: float = 0.3
    lambda_: float = 0.1

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> "Settings":
        """Read settings; BundleError names `where`."""
        from ranklet.runtime.settings import settings_from

        return settings_from(cls, raw, where)


# Names of the un-sparsified network's inputs and output, (batch, tokens) int64 → (batch,) float32.
INPUTS = ("query_ids", "document_ids")
OUTPUT = "log_likelihood"


class NeuralModel1(Model1):
    """Σ over query word pieces of log P(q|D) − log λP(q|C), T(q|d) from the network's table."""

    settings_class = Settings


RANKER = NeuralModel1
