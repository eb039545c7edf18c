"""What `ranklet learn` may cost, and what it learns for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranklet.corpus.building.default_fusion import read_boost
from ranklet.corpus.evaluation.measures import parse_measure
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, number, place, read_from, switch, text
from ranklet.runtime.pipelines.signals import read_signals


@dataclass(frozen=True)
class LearnOptions(Checked):
    """What a search and its learning may cost.

    Attributes:
        minutes: of wall time that learning may take.
        max_ms: milliseconds of a query on this machine at the 95th percentile; None for any.
        max_mb: size of the bundle in 10⁶ bytes; None for any.
        network: whether a network may read queries.
        training: whether rankers are tuned and trained, besides the weights of those that there
            are.
        lexical: whether only rankers are trained that need no PyTorch.
        measure: what to learn for, MRR@k, nDCG@k or R@k.
        model: folder of the encoder to train; None for the one that the bundle was built with, if
            it is MiniLM-L6, or MiniLM-L6 for English texts.
    """

    GROUP = "learning"

    minutes: float = number(60.0, "wall time that learning may take", 0.01)
    max_ms: float | None = number(
        None, "most milliseconds per query here, at the 95th percentile; any by default", 0.001
    )
    max_mb: float | None = number(None, "largest bundle, in 10⁶ bytes; any by default", 0.001)
    network: bool = switch(
        True, "let no network read queries, for the fastest start", flag="--no-network"
    )
    training: bool = switch(
        True, "only learn the weights of the bundle's rankers", flag="--no-training"
    )
    lexical: bool = switch(False, "train only rankers that need no PyTorch")
    measure: str = text("MRR@10", "what to learn for: MRR@k, nDCG@k or R@k")
    model: str | Path | None = place(
        "encoder to train, a folder or a name on the hub (default: MiniLM-L6, if the bundle has it "
        "or the texts are English)"
    )

    boost: Mapping[str, Mapping[str, Any]] | None = read_from(
        None,
        'metadata whose weights are learned, JSON as in {"date": {"half_life": "30d"}}',
        read_boost,
    )

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.boost is not None:
            read_signals(self.boost, weight=0.0)
        parse_measure(self.measure)
        if self.model is not None and (self.lexical or not self.training):
            raise InputError("--model names an encoder to train, and none is trained; leave it out")


LEARN = LearnOptions()
