"""TK: rescore by a transformer over words, and kernels between query and document."""

from dataclasses import dataclass

from ranklet.runtime.rankers.tk import TKSettings
from ranklet.training.rankers.conformer_kernel.options import TermOptions
from ranklet.training.rankers.tk.sizes import TKNetwork

SETTINGS, NETWORK = TKSettings(), TKNetwork()


@dataclass(frozen=True, kw_only=True)
class Options(TermOptions):
    """Options of a TK or a TKL."""

    GROUP = "tk"

    settings: TKSettings = SETTINGS
    network: TKNetwork = NETWORK
