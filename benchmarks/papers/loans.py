"""Work through trainings in the time for which a machine is lent, and go on with the next loan.

What is measured is kept. A training whose time is up is interrupted as by Ctrl-C, so its state is
kept, too, for as long as the folder is. One that cannot end in time does not begin.
"""

import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from benchmarks.papers.plans import Training

Found = Mapping[str, Any]
# What to do for so many seconds at most; None is returned if they were too few.
Measure = Callable[[Training, float], Found | None]


class Files(NamedTuple):
    """Files that trainings hand on to others.

    Attributes:
        needs: those that a training cannot begin without.
        makes: those that it leaves.
    """

    needs: Callable[[Training], Sequence[Path]]
    makes: Callable[[Training], Sequence[Path]]


class Done(NamedTuple):
    """What a loan has brought.

    Attributes:
        found: of each training that was measured, in the order of the plans.
        left: the trainings that wait for more time, or for others that do.
        failed: what others raised.
    """

    found: list[tuple[Training, Found]]
    left: list[Training]
    failed: list[tuple[Training, Exception]]


def work_through(
    plans: Sequence[Training],
    measure: Measure,
    pool: Executor,
    *,
    files: Files,
    ends: float = inf,
    together: int = 1,
    clock: Callable[[], float] = monotonic,
) -> Done:
    """Measure as many plans as fit, in their order, some at a time.

    Args:
        plans: the trainings.
        measure: is run by the pool, with the seconds that are left.
        pool: runs `together` at a time.
        files: what trainings hand on.
        ends: when the time is up, by the clock.
        together: how many run at a time.
        clock: returns seconds.
    """
    waiting, running, failed = list(plans), dict[Future[Any], Training](), []
    found: dict[tuple[str, int], Found] = {}
    while True:
        for plan in [*waiting]:
            ready = all(path.exists() for path in files.needs(plan))
            if len(running) < together and ready and clock() + 60 * plan.minutes <= ends:
                waiting.remove(plan)
                running[pool.submit(measure, plan, ends - clock())] = plan
        if not running:
            break
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            plan = running.pop(future)
            try:
                result = future.result()
            except Exception as error:  # whatever it is, the other trainings are measured
                failed.append((plan, error))
                continue
            if result is not None:
                found[plan.name, plan.seed] = result
    kept = [
        (plan, found[plan.name, plan.seed]) for plan in plans if (plan.name, plan.seed) in found
    ]
    known = {(plan.name, plan.seed) for plan, _ in [*kept, *failed]}
    return Done(kept, [plan for plan in plans if (plan.name, plan.seed) not in known], failed)


def within(seconds: float, work: Callable[[], Found]) -> Found | None:
    """Return what the work returns, or None if it took longer and was interrupted."""
    timer = threading.Timer(
        min(seconds, threading.TIMEOUT_MAX), signal.raise_signal, [signal.SIGINT]
    )
    timer.daemon = True
    timer.start()
    try:
        return work()
    except KeyboardInterrupt:
        return None
    finally:
        timer.cancel()


def with_needed(
    plans: Sequence[Training], every: Sequence[Training], files: Files
) -> list[Training]:
    """Return plans and, before each, the others that it is compared with or learns from."""
    chosen: dict[tuple[str, int], Training] = {}

    def add(plan: Training) -> None:
        if (plan.name, plan.seed) in chosen:
            return
        needed = {str(path) for path in files.needs(plan)}
        for other in every:
            compared = other.seed == plan.seed and other.name in plan.against
            if compared or needed & {str(path) for path in files.makes(other)}:
                add(other)
        chosen[plan.name, plan.seed] = plan

    for plan in plans:
        add(plan)
    return list(chosen.values())
