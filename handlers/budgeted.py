"""A bundle that ranks within a budget, for answers that know of none."""

from typing import Any

from ranklet.runtime.hits import Ranking
from ranklet.runtime.loaded import LoadedBundle


class Budgeted:
    """A loaded bundle whose every ranking has a deadline; in all else it is the bundle.

    Args:
        bundle: the bundle.
        budget_ms: of each ranking, None for no limit.

    Attributes:
        left_out: the stages of its rankings that there was no time for.
        spent: the budget of one of them was spent.
    """

    def __init__(self, bundle: LoadedBundle, budget_ms: float | None) -> None:
        self._bundle, self._budget_ms = bundle, budget_ms
        self.left_out: tuple[str, ...] = ()
        self.spent = False

    def __len__(self) -> int:
        return len(self._bundle)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bundle, name)

    def rank(self, *given: Any, **options: Any) -> Ranking:
        """Rank as the bundle does, within the budget."""
        ranking = self._bundle.rank(*given, **options, budget_ms=self._budget_ms)
        self.left_out += ranking.left_out
        self.spent = self.spent or ranking.budget_spent
        return ranking
