"""Work ends once it has taken too much time or memory."""

import pytest

from ranklet.corpus.progress import progress
from ranklet.workflows.learn.limits import Budget, OutOfBudgetError


def test_work_ends_between_two_of_its_pieces_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget, done = Budget(1.0), list[int]()

    def work() -> None:
        for piece in progress(range(5), "work"):
            done.append(piece)
            if piece == 2:
                monkeypatch.setattr(budget, "_seconds", 0.0)

    with budget.kept(), pytest.raises(OutOfBudgetError, match="time"):
        work()
    assert done == [0, 1, 2]
    assert list(progress(range(5), "other work")) == [*range(5)]  # which nobody limits


def test_a_piece_that_would_take_as_long_as_the_one_before_is_not_begun_past_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, done = [0.0], list[int]()
    monkeypatch.setattr("ranklet.workflows.learn.limits.monotonic", lambda: now[0])
    budget = Budget(1.0)

    def work() -> None:
        for piece in progress(range(5), "work"):
            done.append(piece)
            now[0] += 25.0

    with budget.kept(), pytest.raises(OutOfBudgetError, match="time"):
        work()
    assert done == [0, 1]  # a third one would end at 75 s
    assert budget.minutes <= 1.0


def test_work_ends_when_it_holds_too_much_memory() -> None:
    budget = Budget(1.0)
    budget.memory = -1e12
    with budget.kept(), pytest.raises(OutOfBudgetError, match="memory"):
        list(progress(range(5), "work"))


def test_at_most_half_of_the_time_is_kept_for_the_end() -> None:
    budget = Budget(1.0)
    budget.reserve(50.0)
    assert budget.left() <= 30.0 < budget.left(0)
    budget.indexing = 40.0
    assert not budget.fits(0.0)
    assert budget.fits(10.0, reserved=30.0)
