"""Errors of what builds and writes bundles."""

from ranklet.runtime.ground.errors import RankletError

REPLACE = "replace it by --force, or in Python by overwrite=True"  # the end of a message


class BuildError(RankletError):
    """A bundle that cannot be written: the target is taken, or the parts do not fit."""


class ClusterError(RankletError):
    """A cluster that does not answer, is lost, or has other packages than this machine."""
