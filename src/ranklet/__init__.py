"""ranklet: train a text ranker in PyTorch, export it once, rank anywhere without PyTorch.

>>> import ranklet
>>> bundle = ranklet.build("texts.csv", "search.ranklet")  # doctest: +SKIP
>>> bundle.rank("how do cats sleep?")  # doctest: +SKIP

Importing this module costs nothing, because its functions are imported when they are first used.
"""

from typing import TYPE_CHECKING, Any

from ranklet.version import __version__

if TYPE_CHECKING:
    from ranklet.corpus.updating.merge import merge
    from ranklet.corpus.updating.update import update
    from ranklet.corpus.updating.writable import open  # noqa: A004
    from ranklet.runtime import Bundle, Query, RankletError, context, load, rank, rank_batch, rerank
    from ranklet.workflows.build import build
    from ranklet.workflows.build_options import BuildOptions
    from ranklet.workflows.learn.learn import learn
    from ranklet.workflows.learn.options import LearnOptions

_MODULES = {
    "BuildOptions": "ranklet.workflows.build_options",
    "Bundle": "ranklet.runtime",
    "LearnOptions": "ranklet.workflows.learn.options",
    "Query": "ranklet.runtime",
    "RankletError": "ranklet.runtime",
    "build": "ranklet.workflows.build",
    "context": "ranklet.runtime",
    "learn": "ranklet.workflows.learn.learn",
    "load": "ranklet.runtime",
    "merge": "ranklet.corpus.updating.merge",
    "open": "ranklet.corpus.updating.writable",
    "rank": "ranklet.runtime",
    "rank_batch": "ranklet.runtime",
    "rerank": "ranklet.runtime",
    "update": "ranklet.corpus.updating.update",
}
__all__ = [
    "BuildOptions",
    "Bundle",
    "LearnOptions",
    "Query",
    "RankletError",
    "__version__",
    "build",
    "context",
    "learn",
    "load",
    "merge",
    "open",
    "rank",
    "rank_batch",
    "rerank",
    "update",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'ranklet' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
