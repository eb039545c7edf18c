"""Train a ranker of any kind by the kind's own modules."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.progress import IMPORTING, import_slowly
from ranklet.runtime.kinds import KINDS
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.kept_state import STATE
from ranklet.training.learning.options import TrainingOptions


def load_options(kind: str) -> type[Any]:
    """Return the dataclass of a kind's options."""
    options: type[Any] = import_module(f"ranklet.training.rankers.{kind}.options").Options
    return options


def train(
    kind: str,
    collection: Collection,
    queries: JudgedQueries,
    dev: JudgedQueries,
    options: Any,
    state: Path | None = None,
) -> Checkpoint:
    """Return a ranker that has learned.

    Args:
        kind: of the ranker.
        collection: with the documents.
        queries: to learn from.
        dev: to tune on.
        options: an instance of `load_options`.
        state: folder of a network's training, which goes on from what is there; None for none.
    """
    if state is not None and isinstance(options, TrainingOptions):
        options = replace(options, folder=state, resume=(state / STATE).is_file())
    if not KINDS[kind].lexical:
        import_slowly("torch", IMPORTING)
    module = import_module(f"ranklet.training.rankers.{kind}.training")
    checkpoint: Checkpoint = module.train(collection, queries, dev, options)
    return checkpoint
