"""Conformer-Kernel: retrieve by words, matched exactly and by a network."""

from dataclasses import dataclass
from pathlib import Path

from ranklet.corpus.languages.options import WORDS, TextOptions
from ranklet.runtime.ground.options import integer, place, text
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings, TermSettings
from ranklet.training.learning.options import CandidateOptions, TaughtOptions, TrainingOptions
from ranklet.training.rankers.conformer_kernel.sizes import Network, TermSizes

# Not the words and sizes of the paper (256 dimensions, 32 heads and groups). In eight minutes on
# two cores NDRM3 stayed below BM25 with them, and was above it with these after 2.8 × the steps.
SETTINGS = ConformerKernelSettings(field="lemmas")
NETWORK = Network(hidden=128, heads=16, groups=16)


@dataclass(frozen=True, kw_only=True)
class TermOptions(TaughtOptions, TrainingOptions, CandidateOptions):
    """Options of a network over word forms, a Conformer-Kernel or a TK.

    A query has one relevant document, one of BM25's best 100, and two random ones (Mitra et al.).
    """

    settings: TermSettings = SETTINGS
    network: TermSizes = NETWORK
    words: TextOptions = WORDS
    word_vectors: str | Path | None = place(
        "file of word vectors, as GloVe's text form, that the embeddings begin with; it needs "
        "--hidden of their size"
    )
    query_log: str = text("", "split of logged queries to add to the documents they led to")
    batch: int = integer(16, "queries per batch, each with four documents", 1)
    depth: int = integer(100, "ranks of BM25 that a negative comes from", 1, flag=None)
    pool: int = integer(20, "documents of these ranks that the epochs draw from", 1, flag=None)
    random_each: int = integer(2, "random documents per query and epoch", 1, flag=None)
    least: int = integer(2, "minimum occurrences of a term", 1)
    most: int = integer(50_000, "terms that the network knows at most", 1, flag=None)
    learning_rate: float = 5e-4
    epochs: int = 5
    clip: float | None = 1
    evaluations: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class Options(TermOptions):
    """Options of a Conformer-Kernel."""

    GROUP = "conformer_kernel"

    settings: ConformerKernelSettings = SETTINGS
    network: Network = NETWORK
