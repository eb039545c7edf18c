"""Cross-encoders, networks that read query and document together."""

from ranklet.runtime.rankers.cross_encoder.ranker import RANKER, SETTINGS

__all__ = ["RANKER", "SETTINGS"]
