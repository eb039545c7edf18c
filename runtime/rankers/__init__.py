"""The kinds of ranker: one file of that name here, in training/rankers and export/rankers."""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from ranklet.runtime.errors import UnknownRankerError

KINDS = (
    "bm25", "model1", "neural_model1", "repbert", "epic", "cross_encoder", "conformer_kernel", "tk",
)  # fmt: skip
RERANKERS = ("cross_encoder", "tk")  # kinds that run a network over each pair: for few candidates
# Kinds that have an index of their own; the others rescore.
RETRIEVERS = ("bm25", "repbert", "epic", "conformer_kernel")
# Of these, whose index is one of impacts: deep lists are cheap.
IMPACTS = ("bm25", "epic", "conformer_kernel")
WITHOUT_NETWORK = "ndrm2"  # an architecture of the kind conformer_kernel


def reranks(kind: str, settings: Mapping[str, Any]) -> bool:
    """Tell whether a ranker runs a network over each pair, and so is for few candidates.

    A Conformer-Kernel whose scorer is onnx does, though it has an index that retrieves.
    """
    by_network = (
        settings.get("scorer") == "onnx" and settings.get("architecture") != WITHOUT_NETWORK
    )
    return kind in RERANKERS or (kind == "conformer_kernel" and by_network)


def ranker_module(kind: str) -> ModuleType:
    """Return the runtime module of a kind, imported when it is first asked for.

    The check against `KINDS` keeps a manifest from naming any other module.

    Raises:
        UnknownRankerError: no such kind.
    """
    if kind not in KINDS:
        raise UnknownRankerError(f"unknown ranker kind {kind!r}; known are {', '.join(KINDS)}")
    return import_module(f"{__name__}.{kind}")
