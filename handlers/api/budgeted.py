"""A bundle that ranks within a budget, for answers that know of none."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ranklet.handlers.api.answers import ANSWERS, Answer
from ranklet.handlers.api.limits import Limits
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Ranking


class Within(NamedTuple):
    """An answer within a budget.

    Attributes:
        answer: says so itself where there was no time for all of it.
        left_out: the stages that there was no time for.
    """

    answer: Answer
    left_out: tuple[str, ...]


def answer_within(
    budget_ms: float, path: str, bundle: Bundle, body: Mapping[str, Any], limits: Limits
) -> Within:
    """Answer a parsed body; see :mod:`ranklet.handlers.api.answers`.

    Args:
        budget_ms: milliseconds after which no further stage begins.
        path: names the answer, as in `ANSWERS`.
        bundle: what ranks.
        body: the request.
        limits: what is allowed.
    """
    budgeted = Budgeted(bundle, budget_ms)
    answer = ANSWERS[path](cast(Bundle, budgeted), body, limits)
    if budgeted.spent and isinstance(answer.body, dict):
        told = {"budget_spent": True, "left_out": list(budgeted.left_out)}
        answer = answer._replace(body=answer.body | told)
    return Within(answer, budgeted.left_out)


class Budgeted:
    """A loaded bundle whose every ranking has a deadline; in all else it is the bundle.

    Args:
        bundle: the bundle.
        budget_ms: of each ranking, None for no limit.

    Attributes:
        left_out: the stages of its rankings that there was no time for.
        spent: the budget of one of them was spent.
    """

    def __init__(self, bundle: Bundle, budget_ms: float | None) -> None:
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
