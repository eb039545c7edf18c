"""EPIC: retrieve by sparse vectors over the vocabulary."""

from dataclasses import dataclass

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import switch
from ranklet.training.learning.options import HeadOptions, TextPairOptions


@dataclass(frozen=True, kw_only=True)
class Options(HeadOptions, TextPairOptions):
    """Options of EPIC, for MiniLM-L6 on a processor.

    The paper's, for BERT base on a GPU: Adam, 2e-5 throughout, batches of 16 triples, some 20,000
    of them (MacAvaney et al.). Here what is new begins at random and learns faster, and by default
    the loss is a softmax over all documents of the batch, which learns faster, too
    (docs/maintainers/log).
    """

    GROUP = "epic"

    pairwise: bool = switch(
        False, "learn from a relevant document and one negative, as in the paper"
    )
    learning_rate: float = 5e-5
    clip: float | None = 1
    batch: int = 16
    negatives: str = "bm25"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairwise and self.teacher is not None:
            raise InputError("a --teacher has a loss of its own; leave out --pairwise")
        if self.pairwise and (self.negatives == "in-batch" or self.negatives_each > 1):
            raise InputError(
                "--pairwise needs one negative for each query: --negatives bm25 or random, and no "
                "--negatives-each"
            )
