"""Options of scoring candidates by a teacher."""

from dataclasses import dataclass

from ranklet.runtime.options import integer, text
from ranklet.training.learning.options import CandidateOptions


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(CandidateOptions):
    """Which documents are scored, and where."""

    GROUP = "candidates"

    depth: int = integer(20, "best documents of BM25, and of each --candidates, per query", 1)
    pipeline: str = text("", "pipeline of the --candidates bundles (default: each one's default)")
    device: str = text("auto", "where models run: auto, cpu or cuda; auto prefers a GPU")
