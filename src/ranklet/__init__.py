"""ranklet: train a text ranker in PyTorch, export it once, rank anywhere without PyTorch.

Serving needs one import, ``from ranklet import runtime``; see :func:`ranklet.runtime.rank`.
This module imports nothing, so that reading the version costs nothing.
"""

__version__ = "0.1.0"
