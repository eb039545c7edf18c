"""The Conformer-Kernel, a network that scores query terms independently."""

from ranklet.runtime.rankers.conformer_kernel.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
