"""Light contextualisation: token vectors that are made of static ones."""

from ranklet.runtime.rankers.srm.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
