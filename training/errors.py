"""What can go wrong while a neural ranker learns."""

from ranklet.runtime.errors import RankletError


class TrainingError(RankletError):
    """A training that cannot go on, or cannot be resumed."""
