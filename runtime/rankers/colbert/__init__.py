"""ColBERT: late interaction of the token vectors of a query and a document."""

from ranklet.runtime.rankers.colbert.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
