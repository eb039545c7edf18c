"""IBM Model 1: rescore by translation probabilities, learned by EM."""

from dataclasses import dataclass

from ranklet.runtime.ground.options import integer, number
from ranklet.training.learning.options import CandidateOptions, FieldOptions


@dataclass(frozen=True, kw_only=True)
class Options(FieldOptions, CandidateOptions):
    """Options of Model 1."""

    GROUP = "model1"

    iterations: int = integer(5, "rounds of EM", 1)
    threshold: float = number(1e-3, "drop translations that are less probable", 0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need_tokenizer(self.field, self.bm25.field)
        self.words.need_words(self.field, self.bm25.field)
