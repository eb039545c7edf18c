"""Cross-encoders: rescore by a network that reads query and document together."""

from dataclasses import dataclass
from typing import ClassVar

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Idle, integer, one_of
from ranklet.runtime.rankers.cross_encoder.ranker import HEADS, IMPORTED, CrossEncoderSettings
from ranklet.training.learning.options import (
    NEGATIVES,
    CandidateOptions,
    HeadOptions,
    TaughtOptions,
)

SETTINGS = CrossEncoderSettings()
DOCUMENTS, PASSAGES = "documents", "passages"


@dataclass(frozen=True, kw_only=True)
class CrossBatchOptions(TaughtOptions, HeadOptions):
    """The batches."""

    batch: int = integer(4, "queries per batch, each with a relevant document", 1)
    negatives: str = one_of("bm25", NEGATIVES, "documents that are not relevant")
    negatives_each: int = integer(1, "negatives for each relevant document", 1)
    depth: int = integer(500, "ranks of BM25 that the negatives come from", 1, flag=None)
    pool: int = integer(20, "negatives per query that each epoch draws from", 1, flag=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_negatives(self.negatives)


@dataclass(frozen=True, kw_only=True)
class Options(CrossBatchOptions, CandidateOptions):
    """Options of a cross-encoder.

    The defaults are those of Boytsov & Kolter, §4.1: one epoch, 2e-5 for the body and 2e-4 for the
    head, 16 pairs per step, AdamW, and negatives from BM25's top 500. Small cross-encoders gain
    from several negatives and a softmax elsewhere (Petrov, MacAvaney & Macdonald 2024, arXiv
    2403.20222); here a softmax over eight documents is level with the margin
    (`paper_trainings`).
    """

    GROUP = "cross_encoder"
    IDLE: ClassVar[Idle] = {
        "layers": ("head", *(each for each in HEADS if not each.startswith("cedr")))
    }

    settings: CrossEncoderSettings = SETTINGS
    layers: int = integer(0, "last layers that a CEDR head reads; 0 for all", 0)
    loss: str = one_of(
        "margin", ("margin", "softmax", "cross_entropy"),
        "margin of two documents, softmax over a query's, or cross_entropy of each",
    )  # fmt: skip
    learn_from: str = one_of(
        DOCUMENTS, (DOCUMENTS, PASSAGES), "documents, or passages with the label of their document"
    )
    weight_decay: float = 1e-7
    accumulation: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings.head == IMPORTED:
            raise InputError(
                f"the head {IMPORTED} belongs to models of other libraries and cannot be trained; "
                f"choose one of {', '.join(HEADS)}"
            )
        if self.loss != type(self).loss and self.teacher is not None:
            raise InputError(f"a --teacher has a loss of its own; leave out --loss {self.loss}")
        if self.loss == "cross_entropy" and self.settings.head == "model1":
            raise InputError(
                "the loss cross_entropy needs scores of either sign, and those of the head model1 "
                "are logarithms of probabilities; use the loss softmax or margin"
            )
        if self.learn_from == PASSAGES:
            self._check_passages()

    def _check_passages(self) -> None:
        """Raise InputError unless each passage has a score and a loss of its own."""
        chunks, combine = self.settings.chunks, self.settings.combine
        if self.loss != "cross_entropy":
            raise InputError(
                f"--learn-from {PASSAGES} needs --loss cross_entropy, because a passage learns the "
                "label of its document and is not compared with another passage"
            )
        if chunks == 1 or combine not in ("max", "mean"):
            raise InputError(
                f"--learn-from {PASSAGES} needs several passages per document, each with a score "
                f"of its own; chunks is {chunks} and combine is {combine!r}, so give --chunks 2 or "
                "more and --combine max or mean"
            )
