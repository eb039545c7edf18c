"""Cross-encoders: a network reads query and document together."""

from ranklet.runtime.rankers.cross_encoder.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
