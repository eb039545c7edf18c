"""Errors of training."""

from ranklet.runtime.ground.errors import RankletError


class TrainingError(RankletError):
    """A training that cannot continue or cannot be resumed."""
