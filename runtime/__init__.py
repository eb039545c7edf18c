"""Rank with an exported bundle. This needs numpy and tokenizers, but never PyTorch.

>>> from ranklet import runtime
>>> runtime.rank("remove indentation", bundle="python-docs.ranklet")  # doctest: +SKIP

Importing this module costs nothing, because what it has is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklet.runtime.bundle import Bundle
    from ranklet.runtime.contexts import Context, ContextSpan
    from ranklet.runtime.errors import (
        BundleError,
        BusyError,
        CollectionError,
        InputError,
        MissingPackageError,
        ModelFolderError,
        OutOfTimeError,
        RankletError,
        RemoteError,
        TooManySpansError,
        UnknownDocumentError,
        UnknownRankerError,
    )
    from ranklet.runtime.explanation import Explanation
    from ranklet.runtime.hits import Completion, Hit, Ranking, Timing
    from ranklet.runtime.pipeline import Boost, Fuse, Keep, Pipeline, Rescore, Retrieve
    from ranklet.runtime.ranking import context, load, rank, rank_batch, rerank, score
    from ranklet.runtime.syntax.query_syntax import Query

_MODULES = {
    "Boost": "pipeline",
    "Bundle": "bundle",
    "BundleError": "errors",
    "BusyError": "errors",
    "CollectionError": "errors",
    "Completion": "hits",
    "Context": "contexts",
    "ContextSpan": "contexts",
    "Explanation": "explanation",
    "Fuse": "pipeline",
    "Hit": "hits",
    "InputError": "errors",
    "Keep": "pipeline",
    "MissingPackageError": "errors",
    "ModelFolderError": "errors",
    "OutOfTimeError": "errors",
    "Pipeline": "pipeline",
    "Query": "syntax.query_syntax",
    "Ranking": "hits",
    "RankletError": "errors",
    "RemoteError": "errors",
    "Rescore": "pipeline",
    "Retrieve": "pipeline",
    "Timing": "hits",
    "TooManySpansError": "errors",
    "UnknownDocumentError": "errors",
    "UnknownRankerError": "errors",
    "context": "ranking",
    "load": "ranking",
    "rank": "ranking",
    "rank_batch": "ranking",
    "rerank": "ranking",
    "score": "ranking",
}
__all__ = [
    "Boost",
    "Bundle",
    "BundleError",
    "BusyError",
    "CollectionError",
    "Completion",
    "Context",
    "ContextSpan",
    "Explanation",
    "Fuse",
    "Hit",
    "InputError",
    "Keep",
    "MissingPackageError",
    "ModelFolderError",
    "OutOfTimeError",
    "Pipeline",
    "Query",
    "Ranking",
    "RankletError",
    "RemoteError",
    "Rescore",
    "Retrieve",
    "Timing",
    "TooManySpansError",
    "UnknownDocumentError",
    "UnknownRankerError",
    "context",
    "load",
    "rank",
    "rank_batch",
    "rerank",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'ranklet.runtime' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"ranklet.runtime.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
