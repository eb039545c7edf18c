"""Light contextualisation: rescore by static token vectors that their neighbours refine."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Idle,
    integer,
    list_options,
    number,
    one_of,
    place,
    switch,
)
from ranklet.runtime.rankers.srm.settings import LightForm
from ranklet.training.learning.options import MARGIN, NEGATIVES, TextPairOptions

FINE_TUNING = (
    "teacher", "learning_rate", "epochs", "steps", "max_minutes", "accumulation", "evaluate_every",
    "patience",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Options(LightForm, TextPairOptions):
    """Options of light contextualisation, for an oracle of MiniLM-L6 on a processor.

    Boualili, chapter 8, had a table that begins at random, 20 million passages, 4,096 of them and
    50 tokens of each in a step, Adam with learning rate 2e-3, 10 epochs; then 30 epochs of batches
    of 32 at 2e-5 with a cross-encoder as the teacher. Here the table begins with the centroids of
    the oracle's vectors, so a few hundred steps are enough, and the oracle itself is the teacher
    unless another one is given.
    """

    GROUP = "srm"
    IDLE: ClassVar[Idle] = dict.fromkeys(
        ("distil_batch", "distil_tokens", "distil_rate"), ("distil_steps", 0)
    )

    backbone: str | Path | None = place("not used, because the oracle is the encoder", flag=None)
    oracle: str | Path | None = place("checkpoint of the ColBERT that is imitated (needed)")
    teacher: str | Path | None = place(
        "TREC run of a cross-encoder to fine-tune by (default: the oracle's own scores)"
    )
    teacher_loss: str = one_of(MARGIN, (MARGIN,), "always margins", flag=None)
    negatives_each: int = integer(1, "always one", 1, 1, flag=None)
    distil_steps: int = integer(400, "steps of distillation; 0 for none", 0)
    distil_batch: int = integer(64, "texts per step of distillation", 1)
    distil_tokens: int = integer(50, "tokens of a text that are compared", 1)
    distil_texts: int = integer(20_000, "documents to distil on; 0 for all", 0)
    distil_rate: float = number(1e-2, "learning rate of distillation", 1e-9, 10)
    fine_tune: bool = switch(True, "only distil", flag="--no-fine-tuning")
    learning_rate: float = 1e-3
    clip: float | None = 1
    negatives: str = one_of("bm25", NEGATIVES, "documents that are not relevant")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backbone is not None:
            raise InputError("light vectors imitate an --oracle and have no --backbone")
        given = [
            each.flag
            for each in list_options(self)
            if each.path[0] in FINE_TUNING and each.default != getattr(type(self), each.path[0])
        ]
        if given and not self.fine_tune:
            raise InputError(
                f"{', '.join(given)}: for fine-tuning only; leave out --no-fine-tuning, or give "
                "--distil-steps, --distil-batch and --distil-rate"
            )
