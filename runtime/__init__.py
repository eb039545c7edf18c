"""Rank with an exported bundle. This needs numpy and tokenizers, but never PyTorch.

>>> from ranklet import runtime
>>> runtime.rank("remove indentation", bundle="python-docs.ranklet")  # doctest: +SKIP
"""

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.contexts import Context, ContextSpan
from ranklet.runtime.errors import (
    BundleError,
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

__all__ = [
    "Boost",
    "Bundle",
    "BundleError",
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
