"""RepBERT: retrieve by one dense vector per text."""

from dataclasses import dataclass

from ranklet.training.learning.options import TextPairOptions


@dataclass(frozen=True, kw_only=True)
class Options(TextPairOptions):
    """Options of RepBERT, sensible for MiniLM-L6 on a processor, within an hour.

    The paper's, for BERT base on a GPU: Adam, learning rate 3e-6, warm-up over 10,000 of 350,000
    steps, batch 26 × accumulation 2, queries of 20 tokens, documents of 256 (paper 004).
    """

    clip: float | None = 1
    evaluations: int = 5
