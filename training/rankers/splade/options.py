"""SPLADE: retrieve by the sparse term weights of a masked language model."""

from dataclasses import dataclass
from typing import ClassVar

from ranklet.runtime.ground.options import Idle, number, one_of
from ranklet.runtime.rankers.splade import QUERIES
from ranklet.training.learning.options import HeadOptions, TextPairOptions


@dataclass(frozen=True, kw_only=True)
class Options(HeadOptions, TextPairOptions):
    """Options of SPLADE, for MiniLM-L6 on a processor.

    The paper's, for BERT base on GPUs: Adam, learning rate 2e-5, batch 124, 150,000 steps
    (Formal et al. 2021, SPLADE v2); the strengths of the penalty are the paper's.
    """

    GROUP = "splade"
    IDLE: ClassVar[Idle] = {"sparse_queries": ("queries", "idf", "learned")}

    queries: str = one_of("network", QUERIES, "what weighs query terms; idf, learned: no network")
    sparse_queries: float = number(3e-4, "lambda_q, strength of the queries' FLOPS penalty", 0, 100)
    sparse_documents: float = number(1e-4, "lambda_d, that of the documents", 0, 100)
    learning_rate: float = 5e-5
    clip: float | None = 1
    batch: int = 16
    negatives: str = "bm25"
