"""The heads of cross-encoders, one per file, which score the contextual vectors of a pair."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

# Heads that compare tokens in every layer, as CEDR does. The others read the last layer.
LAYERED = ("cedr_knrm", "cedr_drmm", "cedr_pacrr")


@dataclass(frozen=True)
class HeadSizes:
    """Sizes that a head depends on.

    Attributes:
        hidden: dimension of the contextual vectors.
        layers: number of last layers that the head reads.
        query_tokens: maximum number of tokens of a query.
    """

    hidden: int
    layers: int
    query_tokens: int


def make_head(name: str, sizes: HeadSizes) -> "nn.Module":
    """Return an untrained head from the file of its name; the marker heads share a file.

    Args:
        name: the head's name, one of `ranklet.runtime.rankers.cross_encoder.ranker.HEADS`.
        sizes: sizes of the backbone and the query.
    """
    file = "markers" if name.startswith("marker_") else name
    head: nn.Module = import_module(f"{__name__}.{file}").HEAD(name, sizes)
    return head
