"""ranklet: train a text ranker in PyTorch, export it once, rank anywhere without PyTorch.

>>> import ranklet
>>> ranklet.build("texts.csv", "search.ranklet")  # doctest: +SKIP
>>> ranklet.rank("how do cats sleep?", bundle="search.ranklet")  # doctest: +SKIP

Importing this module costs nothing, because its functions are imported when they are first used.
"""

from typing import TYPE_CHECKING, Any

from ranklet.version import __version__

if TYPE_CHECKING:
    from ranklet.export.build import build
    from ranklet.runtime import load, rank, rank_batch, rerank

_FUNCTIONS = ("build", "load", "rank", "rank_batch", "rerank")
__all__ = ["__version__", "build", "load", "rank", "rank_batch", "rerank"]


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'ranklet' has no attribute {name!r}")
    from importlib import import_module

    module = "ranklet.export.build" if name == "build" else "ranklet.runtime"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
