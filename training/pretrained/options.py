"""Options of pretraining."""

from dataclasses import dataclass

from ranklet.runtime.options import integer
from ranklet.training.learning.options import CollectionOptions, EncoderOptions


@dataclass(frozen=True, kw_only=True)
class PretrainingOptions(EncoderOptions, CollectionOptions):
    """How an encoder is trained on masked texts."""

    batch: int = integer(16, "texts per batch", 1)
    max_tokens: int = integer(128, "tokens of a text; longer documents are several texts", 8)
    learning_rate: float = 5e-5
    clip: float | None = 1
