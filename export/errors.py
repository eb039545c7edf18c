"""Errors of the exporting side."""

from ranklet.corpus.errors import BuildError


class ExportError(BuildError):
    """A model that cannot be exported: a checkpoint is damaged, or no variant is close enough."""
