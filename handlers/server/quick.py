"""Tell which answers are so quick that a thread of their own would only delay them."""

import re

AT_MOST_MS = 1.0  # handing a request to a thread and its answer back takes a tenth of it
IN_A_ROW = 32  # so at most one in so many answers takes longer in the event loop
LONGEST = 1024  # bytes
# A query and at most 99 documents.
_PLAIN = re.compile(rb'\s*\{\s*"query"\s*:\s*"[^"\\]*"\s*(,\s*"k"\s*:\s*\d{1,2}\s*)?\}\s*')


def is_plain(sent: bytes) -> bool:
    """Return whether a request asks for nothing that may take long after many quick answers.

    >>> is_plain(b'{"query": "dough", "k": 20}'), is_plain(b'{"query": "dough", "explain": true}')
    (True, False)
    """
    return len(sent) <= LONGEST and bool(_PLAIN.fullmatch(sent))


class Quick:
    """Counts how many plain requests in a row were answered quickly, in the event loop's thread.

    Args:
        here: whether the bundle lies on this machine, so that no answer waits for a network.

    >>> quick = Quick(here=True)
    >>> for _ in range(IN_A_ROW):
    ...     quick.took(0.5)
    >>> quick.expected
    True
    >>> quick.took(30.0)
    >>> quick.expected
    False
    """

    def __init__(self, *, here: bool) -> None:
        self._here, self._in_a_row = here, 0

    def took(self, ms: float) -> None:
        """Count an answer whose work took so many milliseconds."""
        self._in_a_row = self._in_a_row + 1 if ms <= AT_MOST_MS else 0

    @property
    def expected(self) -> bool:
        """Whether the next plain request should be answered quickly, as the last ones were."""
        return self._here and self._in_a_row >= IN_A_ROW
