"""The Conformer-Kernel: a network whose query terms are scored independently."""

from ranklet.runtime.rankers.conformer_kernel.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
