"""Neural Model 1: rescore by translation probabilities of a network."""

from dataclasses import dataclass
from pathlib import Path

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import integer, number, one_of, place
from ranklet.training.learning.options import (
    NEGATIVES,
    CandidateOptions,
    EncoderOptions,
    TaughtOptions,
    TunedOptions,
)

PARAMETRISATIONS = ("network", "cosine")


@dataclass(frozen=True, kw_only=True)
class PairOptions(TaughtOptions, EncoderOptions):
    """The batches, and how texts are cut; Boytsov & Kolter has batches of 32 and one negative."""

    batch: int = integer(16, "queries per batch, each with a relevant document", 1)
    negatives: str = one_of("bm25", NEGATIVES, "documents that are not relevant")
    # Several cost little more than one, since documents share most of their tokens.
    negatives_each: int = integer(7, "negatives for each relevant document", 1)
    max_query_tokens: int = integer(64, "tokens of a query", 1)
    max_document_tokens: int = integer(256, "tokens of a document", 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_negatives(self.negatives)


@dataclass(frozen=True, kw_only=True)
class Options(PairOptions, CandidateOptions, TunedOptions):
    """Options of a neural Model 1.

    Training is the paper's (Boytsov & Kolter, §4.1), but for 12 epochs in place of 32, each with
    several negatives, and a rate that falls to 0, which suits fewer epochs.
    """

    GROUP = "neural_model1"

    vector: int = integer(64, "size of a token's vector", 1)
    hidden: tuple[int, int] = (64, 32)
    parametrisation: str = one_of("network", PARAMETRISATIONS, "T(q|d) of two vectors")
    embeddings: str = one_of("backbone", ("backbone", "random"), "what the vectors begin with")
    objective: str = one_of(
        "cross_entropy", ("cross_entropy", "margin"), "cross_entropy of all, or margin of pairs"
    )
    margin: float = number(1.0, "of the objective margin, in nats per query token", 0, flag=None)
    tokenizer: str | Path | None = place("tokenizer.json or vocab.txt (default: the backbone's)")
    learning_rate: float = 3e-3
    epochs: int = 12
    evaluations: int = 12
    weight_decay: float = 1e-7

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective == "margin" and self.teacher is not None:
            raise InputError("a --teacher has a loss of its own; leave out --objective margin")
        if self.tokenizer is not None and self.embeddings == "backbone":
            raise InputError(
                "--tokenizer needs --embeddings random, because the backbone's vectors are of its "
                "own word pieces"
            )
