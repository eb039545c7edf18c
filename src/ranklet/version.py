"""The version, which other modules read without importing the package root's functions."""

__version__ = "0.1.0"
