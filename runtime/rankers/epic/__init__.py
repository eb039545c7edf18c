"""EPIC: learned sparse vectors."""

from ranklet.runtime.rankers.epic.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
