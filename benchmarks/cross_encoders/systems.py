"""The cross-encoders that are compared: heads, losses and marks, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.cross_encoders.scope import Sizes
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.training.rankers.cross_encoder.options import DOCUMENTS, PASSAGES

MARGIN, CROSS_ENTROPY = "margin", "cross_entropy"


@dataclass(frozen=True)
class System:
    """A cross-encoder that is trained.

    Attributes:
        label: of its row.
        settings: that differ from the default.
        loss: that it learns by.
        seeds: of its trainings.
        learn_from: documents, or passages with the label of their document.
    """

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    loss: str = MARGIN
    seeds: tuple[int, ...] = (0,)
    learn_from: str = DOCUMENTS

    def settings_of(self, sizes: Sizes) -> CrossEncoderSettings:
        """Return all settings. The number of tokens is the same for every system."""
        return CrossEncoderSettings(
            max_tokens=sizes.tokens, max_query_tokens=sizes.query_tokens, **self.settings
        )

    def by_cross_entropy(self) -> "System":
        """Return the same system, trained as in the thesis, on one seed."""
        label = f"{self.label}, cross-entropy"
        return replace(self, label=label, loss=CROSS_ENTROPY, seeds=(0,))

    def by_passages(self, windows: Mapping[str, Any]) -> "System":
        """Return the same system, trained on each window of a document by itself."""
        return replace(self, settings={**self.settings, **windows}, learn_from=PASSAGES)


def marked(label: str, marking: str, **settings: str) -> System:
    """Return a system whose exact matches are marked."""
    return System(label, {"marking": marking, **settings})


SEVERAL = (0, 1, 2)  # seeds of the two heads whose order is the main question
VANILLA = System("vanilla", seeds=SEVERAL)
MODEL1 = System("BERT-Model1", {"head": "model1"}, seeds=SEVERAL)
CEDR = (
    System("CEDR-KNRM", {"head": "cedr_knrm"}),
    System("CEDR-DRMM", {"head": "cedr_drmm"}),
    System("CEDR-PACRR", {"head": "cedr_pacrr"}),
)
SIM_PAIR, PRE_PAIR = marked("Sim-Pair", "sim_pair"), marked("Pre-Pair", "pre_pair")
MARKED = (marked("Sim-Doc", "sim_doc"), SIM_PAIR, marked("Pre-Doc", "pre_doc"), PRE_PAIR)
POOLED = (
    marked("Sim-Pair, markers' average", "sim_pair", head="marker_avg"),
    marked("Sim-Pair, markers' maximum", "sim_pair", head="marker_max"),
    marked("Sim-Pair, first marker", "sim_pair", head="marker_first"),
)
EXPANDED = (
    System("vanilla + 8 [MASK]", {"expansion": "mask"}),
    System("vanilla + 8 #", {"expansion": "hash"}),
    marked("Sim-Pair + 8 [MASK]", "sim_pair", expansion="mask"),
)
