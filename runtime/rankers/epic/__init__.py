"""EPIC: learned sparse vectors."""

from ranklet.runtime.rankers.epic.ranker import RANKER, Settings

__all__ = ["RANKER", "Settings"]
