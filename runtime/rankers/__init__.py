"""The kinds of ranker: one file of that name here, in training/rankers and export/rankers."""

from importlib import import_module
from types import ModuleType

from ranklet.runtime.errors import UnknownRankerError

KINDS = ("bm25", "model1", "neural_model1", "repbert", "epic", "cross_encoder")
RERANKERS = ("cross_encoder",)  # kinds that run a network over each pair: for few candidates
RETRIEVERS = ("bm25", "repbert", "epic")  # kinds with an index of their own; the others rescore


def ranker_module(kind: str) -> ModuleType:
    """Return the runtime module of a kind, imported when it is first asked for.

    The check against `KINDS` keeps a manifest from naming any other module.

    Raises:
        UnknownRankerError: no such kind.
    """
    if kind not in KINDS:
        raise UnknownRankerError(f"unknown ranker kind {kind!r}; known are {', '.join(KINDS)}")
    return import_module(f"{__name__}.{kind}")
