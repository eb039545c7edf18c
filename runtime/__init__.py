"""Rank with an exported bundle: words need numpy alone, networks onnxruntime, nothing PyTorch.

>>> from ranklet import runtime
>>> runtime.rank("remove indentation", bundle="python-docs.ranklet")  # doctest: +SKIP

Importing this module costs nothing, because what it has is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklet.runtime.answers.context import Context, ContextSpan
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundle import Bundle
    from ranklet.runtime.ground.errors import (
        BundleError,
        BusyError,
        CollectionError,
        InputError,
        MissingPackageError,
        ModelFolderError,
        NoVectorError,
        OutOfTimeError,
        RankletError,
        RemoteError,
        TooManySpansError,
        UnknownDocumentError,
        UnknownRankerError,
    )
    from ranklet.runtime.hits import Completion, Hit, Ranking, Timing
    from ranklet.runtime.pipelines.pipeline import Boost, Fuse, Keep, Pipeline, Rescore, Retrieve
    from ranklet.runtime.ranking import context, load, rank, rank_batch, rerank, score
    from ranklet.runtime.syntax.query_syntax import Query

_MODULES = {
    "Boost": "pipelines.pipeline",
    "Bundle": "bundle",
    "BundleError": "ground.errors",
    "BusyError": "ground.errors",
    "CollectionError": "ground.errors",
    "Completion": "hits",
    "Context": "answers.context",
    "ContextSpan": "answers.context",
    "Explanation": "answers.explanation",
    "Fuse": "pipelines.pipeline",
    "Hit": "hits",
    "InputError": "ground.errors",
    "Keep": "pipelines.pipeline",
    "MissingPackageError": "ground.errors",
    "ModelFolderError": "ground.errors",
    "NoVectorError": "ground.errors",
    "OutOfTimeError": "ground.errors",
    "Pipeline": "pipelines.pipeline",
    "Query": "syntax.query_syntax",
    "Ranking": "hits",
    "RankletError": "ground.errors",
    "RemoteError": "ground.errors",
    "Rescore": "pipelines.pipeline",
    "Retrieve": "pipelines.pipeline",
    "Timing": "hits",
    "TooManySpansError": "ground.errors",
    "UnknownDocumentError": "ground.errors",
    "UnknownRankerError": "ground.errors",
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
    "NoVectorError",
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
