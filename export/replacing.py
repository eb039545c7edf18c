"""Put a finished bundle in the place of an old one, for programs that import it from here."""

from ranklet.runtime.writing.replacing import replace_target

__all__ = ["replace_target"]
