"""Dense encoders: retrieve by one vector per text; RepBERT is one."""

from dataclasses import dataclass

from ranklet.runtime.options import one_of
from ranklet.runtime.rankers.dense import SIMILARITIES
from ranklet.training.learning.options import TextPairOptions

KEEP = "keep"


@dataclass(frozen=True, kw_only=True)
class Options(TextPairOptions):
    """Options of a dense encoder, sensible for MiniLM-L6 on a processor, within an hour.

    RepBERT (Zhan et al.) has the similarity dot and the segments distinct. It was trained from BERT
    base on a GPU by Adam with learning rate 3e-6, warm-up over 10,000 of 350,000 steps, batch 26 ×
    accumulation 2, queries of 20 tokens and documents of 256.
    """

    similarity: str = one_of(KEEP, (KEEP, *SIMILARITIES), "score of two vectors, or the encoder's")
    segments: str = one_of(
        KEEP, (KEEP, "same", "distinct"), "token_type_ids of queries and documents"
    )
    clip: float | None = 1
