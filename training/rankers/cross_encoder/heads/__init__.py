"""The heads of cross-encoders, a head a file: contextual vectors of a pair in, its score out."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

# Heads that compare the tokens in every layer, as CEDR does; the others read the last one.
LAYERED = ("cedr_knrm", "cedr_drmm", "cedr_pacrr")


@dataclass(frozen=True)
class HeadSizes:
    """What a head must know of its backbone and of its input.

    Attributes:
        hidden: dimension of the contextual vectors.
        layers: how many are read: 1 for the last one only.
        query_tokens: of a query at most.
    """

    hidden: int
    layers: int
    query_tokens: int


def make_head(name: str, sizes: HeadSizes) -> "nn.Module":
    """Return an untrained head, from the file of its name; the marker heads share one.

    Args:
        name: out of `ranklet.runtime.rankers.cross_encoder.ranker.HEADS`.
        sizes: of the backbone.
    """
    file = "markers" if name.startswith("marker_") else name
    made: nn.Module = import_module(f"{__name__}.{file}").HEAD(name, sizes)
    return made
