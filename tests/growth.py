"""How the cost of a function grows with its input: a ratio of CPU times, so load does not count."""

from collections.abc import Callable
from time import process_time

TIMES = 30  # as much input as in the first measurement


def grows_linearly(work: Callable[[str], object], text: str) -> bool:
    """Return whether a text that is 30 times as long costs about 30 times as much CPU time.

    A quadratic function takes 900 times as much. The bound lies between the two on a logarithmic
    scale, a factor of 5 from both, which is far more than caches and other processes make out.
    """

    def least(given: str) -> float:
        """Return the least of three times, because other threads of the process count, too."""
        times = []
        for _ in range(3):
            begin = process_time()
            work(given)
            times.append(process_time() - begin)
        return min(times)

    return least(text * TIMES) < 5.5 * TIMES * least(text)
