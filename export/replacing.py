"""Put a finished bundle in the place of an old one; training writes by the same code."""

from ranklet.runtime.writing.replacing import replace_target

__all__ = ["replace_target"]
