"""ColBERT: rescore by the best match of each query token among a document's token vectors."""

from dataclasses import dataclass

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import integer, one_of, switch
from ranklet.runtime.rankers.colbert.settings import EXPANSIONS, SIMILARITIES
from ranklet.training.learning.options import HeadOptions, TextPairOptions

LOSSES = ("in-batch", "pairwise", "margin-mse")


@dataclass(frozen=True, kw_only=True)
class Options(HeadOptions, TextPairOptions):
    """Options of ColBERT, for MiniLM-L6 on a processor.

    Khattab & Zaharia had BERT base, 128 dimensions, the cosine, markers, 32 tokens of a query with
    expansion, documents of 180 tokens without punctuation, the pairwise loss, Adam with learning
    rate 3e-6, batch 32 and 200,000 steps. The oracle of Boualili, chapter 8, has the similarity
    dot, all 768 dimensions, no markers, no special tokens and the loss margin-mse.
    """

    GROUP = "colbert"

    dimension: int = integer(
        128, "dimension of a vector; 0 for the encoder's, without a layer", 0, 4096
    )
    similarity: str = one_of("cosine", SIMILARITIES, "of two vectors; cosine normalises them")
    expansion: str = one_of("none", EXPANSIONS, "[MASK] tokens that fill every query to its limit")
    markers: bool = switch(True, "no tokens that tell queries from documents", flag="--no-markers")
    punctuation: bool = switch(False, "documents have vectors of punctuation, too")
    special_tokens: bool = switch(
        True, "no vectors of [CLS], [SEP] and markers", flag="--no-special-tokens"
    )
    loss: str = one_of("in-batch", LOSSES, "softmax over the batch, a pair's, or the teacher's")
    learning_rate: float = 3e-5
    clip: float | None = 1
    batch: int = 16
    negatives: str = "bm25"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss == "margin-mse" and self.teacher is None:
            raise InputError("the loss margin-mse learns from a --teacher; give one")
        if self.loss == "pairwise" and self.teacher is not None:
            raise InputError("a --teacher has the loss margin-mse; leave out --loss pairwise")
        if self.loss != "in-batch" and self.negatives == "in-batch":
            raise InputError(
                f"the loss {self.loss} compares two documents of a query; give --negatives bm25 or "
                "random"
            )
