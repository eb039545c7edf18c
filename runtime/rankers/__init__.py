"""The kinds of ranker, one row each; a kind has a module of its name in three layers.

The layers are runtime/rankers, training/rankers and export/rankers. Nothing outside a kind's own
modules names it: what others must know of it stands in its row, or in its settings.
"""

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Literal

from ranklet.runtime.errors import UnknownRankerError


@dataclass(frozen=True)
class Kind:
    """What others must know of a kind.

    Attributes:
        name: of the kind and of its modules.
        index: what it retrieves by: impacts, where deep lists are cheap, or dense vectors; empty if
            it only rescores.
        own_tokenizer: whether its tokenizer may differ from that of the bundle's word pieces.
        needs_collection: whether it ranks texts by the statistics or the words of a collection.
    """

    name: str
    index: Literal["impacts", "dense", ""] = ""
    own_tokenizer: bool = False
    needs_collection: bool = True

    @property
    def retrieves(self) -> bool:
        """True if and only if it has an index of its own; the others rescore."""
        return bool(self.index)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("bm25", "impacts"),
        Kind("model1"),
        Kind("neural_model1"),
        Kind("repbert", "dense", needs_collection=False),
        Kind("epic", "impacts", own_tokenizer=True, needs_collection=False),
        Kind("splade", "impacts", own_tokenizer=True, needs_collection=False),
        Kind("cross_encoder", own_tokenizer=True, needs_collection=False),
        Kind("conformer_kernel", "impacts"),
        Kind("tk"),
    )
}


def ranker_module(kind: str) -> ModuleType:
    """Return the runtime module of a kind, imported when it is first needed.

    The check against `KINDS` keeps a manifest from naming any other module.

    Raises:
        UnknownRankerError: there is no such kind.
    """
    if kind not in KINDS:
        raise UnknownRankerError(f"unknown ranker kind {kind!r}; known are {', '.join(KINDS)}")
    return import_module(f"{__name__}.{kind}")
