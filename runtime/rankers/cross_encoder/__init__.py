"""Cross-encoders: a network reads query and document together."""

from ranklet.runtime.rankers.cross_encoder.ranker import RANKER, Settings

__all__ = ["RANKER", "Settings"]
