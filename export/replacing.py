"""Put a finished bundle in the place of an old one; the code lies where training can call it, too."""

from ranklet.runtime.storage.replacing import replace_target

__all__ = ["replace_target"]
