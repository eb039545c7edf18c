"""The Conformer-Kernel: a network whose query terms are scored independently."""

from ranklet.runtime.rankers.conformer_kernel.ranker import RANKER, Settings

__all__ = ["RANKER", "Settings"]
