"""TK: rescore by a transformer over words, and kernels between query and document."""

from dataclasses import dataclass
from typing import ClassVar

from ranklet.runtime.ground.options import Idle, check_integer, check_one_of, integer
from ranklet.runtime.rankers.tk import ARCHITECTURES, TKSettings
from ranklet.training.rankers.conformer_kernel.options import TermOptions
from ranklet.training.rankers.conformer_kernel.sizes import TermSizes


@dataclass(frozen=True)
class TKNetwork(TermSizes):
    """Sizes of a TK or a TKL; those of chunks and windows are Hofstätter et al.'s (SIGIR 2020).

    Attributes:
        architecture: tk or tkl.
    """

    IDLE: ClassVar[Idle] = dict.fromkeys(
        ("chunk", "overlap", "window", "stride", "regions"), ("architecture", "tk")
    )

    attention: str = "full"
    kernels: int = 11
    architecture: str = "tk"
    chunk: int = integer(40, "tkl: terms of a chunk that attention reads together", 1)
    overlap: int = integer(7, "tkl: terms around a chunk that are read as its context", 0)
    window: int = integer(30, "tkl: terms that are pooled together", 1, flag="--pool-window")
    stride: int = integer(2, "tkl: terms from one window to the next", 1, flag="--pool-stride")
    regions: int = integer(3, "tkl: windows of a document that count, the best ones", 1, 100)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("architecture", self.architecture, ARCHITECTURES)
        check_integer("kernels", self.kernels, 2)  # one for exact matches, and others
        check_integer("stride", self.stride, 1, self.window)


SETTINGS, NETWORK = TKSettings(), TKNetwork()


@dataclass(frozen=True, kw_only=True)
class Options(TermOptions):
    """Options of a TK or a TKL."""

    GROUP = "tk"

    settings: TKSettings = SETTINGS
    network: TKNetwork = NETWORK
