"""How large a run is, how long it takes on two cores, and where its networks begin."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from benchmarks.harness.place import Place

STEP = 16  # queries per step, as in Boytsov & Kolter
POOLED = 20  # candidates of a query while a network is trained, and its relevant documents

# What the estimate assumes: two cores of an Intel processor with AMX, each with a training.
# Without AMX a training takes up to four times as long.
FLOP_PER_TOKEN = 21.5e6  # of MiniLM-L6, forward; forward and backward take three times as many
FLOP_PER_SECOND = 300e9
PAIR_MS = 5.0  # of 128 tokens, int8, both cores
FILLED = 0.85  # of the tokens that a pair may have
READING_MINUTES = 1.0  # of a collection, before a training begins
EXPORT_MINUTES = 0.5


@dataclass(frozen=True)
class Sizes:
    """How much is learned and measured.

    Attributes:
        tokens: of query and chunk, with and without marks.
        query_tokens: of a query.
        steps: of a training.
        rate_steps: of a training that chooses the learning rate.
        needle_steps: of a second phase, on other documents.
        needle_pool: held-out queries of the same.
        pool: held-out queries that choose between the first and the last weights.
        rate_pool: held-out queries that choose the learning rate.
        tuning: queries of train that BM25 is tuned on.
        queries: of qa-mix, reported at most.
        others: of every other collection, reported at most.
        depth: candidates of BM25.
        needle_depth: the same for long documents.
        chunk: word pieces of a chunk of a needle document, at most.
        least: word pieces of a chunk, at least.
        needles: documents of the needle collection, at least.
        relevant: word pieces that a relevant text of medquad must exceed to count as long.
    """

    tokens: int = 128
    query_tokens: int = 32
    steps: int = 250
    rate_steps: int = 40
    needle_steps: int = 40
    needle_pool: int = 30
    pool: int = 50
    rate_pool: int = 50
    tuning: int = 1_000
    queries: int = 300
    others: int = 150
    depth: int = 30
    needle_depth: int = 12
    chunk: int = 110
    least: int = 90
    needles: int = 4_000
    relevant: int = 240

    def training_minutes(self, steps: int, pool: int, chunks: float = 1) -> float:
        """Return how long a training takes with its two evaluations.

        >>> round(Sizes().training_minutes(100, 30), 1)
        2.4
        """
        tokens = self.tokens * chunks * FILLED
        learned = steps * STEP * 2 * tokens * 3
        evaluated = 2 * pool * (POOLED + 1) * tokens
        seconds = (learned + evaluated) * FLOP_PER_TOKEN / FLOP_PER_SECOND
        return READING_MINUTES + seconds / 60

    def scoring_minutes(self, pairs: int, chunks: float = 1) -> float:
        """Return how long an exported network takes to score some pairs.

        >>> round(Sizes().scoring_minutes(10_000), 1)
        0.7
        """
        return pairs * chunks * PAIR_MS * FILLED * self.tokens / 128 / 60_000


SMALL = Sizes()
# With a GPU for the trainings. Scores are still those of 8 bits on processors.
LARGE = Sizes(
    steps=600, rate_steps=150, needle_steps=200, needle_pool=50, pool=100, rate_pool=100,
    queries=2_000, others=500, depth=100, needle_depth=50, needles=10_000,
)  # fmt: skip


@dataclass(frozen=True)
class Scope:
    """What one run covers; a test gives a smaller one.

    Attributes:
        place: of the run.
        sizes: how much is learned and measured.
        backbone: the untrained encoder that all begin with; None for MiniLM-L6 of its wheel.
    """

    place: Place
    sizes: Sizes = field(default_factory=lambda: LARGE if has_gpu() else SMALL)
    backbone: Path | None = None


def has_gpu() -> bool:
    """Return whether PyTorch can train on a GPU."""
    if find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def announce(what: str, minutes: Mapping[str, float]) -> str:
    """Print how long a run takes at most, by part, and return it.

    What is kept of an earlier run takes no time, and trainings take little on a GPU.
    """
    parts = ", ".join(f"{name} {value:.0f}" for name, value in minutes.items())
    line = f"{what}: about {sum(minutes.values()):.0f} minutes of two idle cores ({parts})"
    print(line, file=sys.stderr)
    return line
