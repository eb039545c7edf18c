"""Dense encoders: retrieve by one vector per text; RepBERT is one."""

from dataclasses import dataclass
from typing import ClassVar

from ranklet.runtime.dense.stored import SIMILARITIES
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Idle, integer, number, one_of
from ranklet.training.learning.options import NEGATIVES, TextPairOptions

KEEP = "keep"
LOSSES = ("softmax", "margin")
MINED = "mined"


@dataclass(frozen=True, kw_only=True)
class Options(TextPairOptions):
    """Options of a dense encoder, sensible for MiniLM-L6 on a processor, within an hour.

    RepBERT (Zhan et al.) has the loss margin, the similarity dot and the segments distinct. It was
    trained from BERT base on a GPU by Adam with learning rate 3e-6, warm-up over 10,000 of 350,000
    steps, batch 26 × accumulation 2, queries of 20 tokens and documents of 256.
    """

    IDLE: ClassVar[Idle] = {"temperature": ("similarity", "dot")}

    # After 60 steps from MiniLM-L6 on qa-mix, 5e-5 gave an MRR@10 of .854 in the pool of held-out
    # queries of train, 1.5e-4 gave .818, and the start has .781.
    learning_rate: float = 5e-5
    similarity: str = one_of(KEEP, (KEEP, *SIMILARITIES), "score of two vectors, or the encoder's")
    segments: str = one_of(
        KEEP, (KEEP, "same", "distinct"), "token_type_ids of queries and documents"
    )
    loss: str = one_of("softmax", LOSSES, "over the batch: a softmax, or RepBERT's margins")
    temperature: float = number(
        0.05, "of the softmax over cosines; inner products are not scaled", 1e-4, 100
    )
    negatives: str = one_of(
        "in-batch", ("in-batch", *NEGATIVES, MINED),
        "where negatives come from; mined ones are the encoder's own best",
    )  # fmt: skip
    mine_every: int = integer(100, "steps after which mined negatives are found anew", 1)
    mine_among: int = integer(20_000, "documents that are searched for them; 0 for all", 0)
    clip: float | None = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss == "margin" and self.teacher is not None:
            raise InputError("a --teacher has a loss of its own; leave out --loss margin")
        mining = (self.mine_every, self.mine_among) != (Options.mine_every, Options.mine_among)
        if self.negatives != MINED and mining:
            raise InputError("--mine-every and --mine-among need --negatives mined")
