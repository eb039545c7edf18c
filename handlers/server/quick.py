"""Tell which answers are so quick that a thread of their own would only delay them."""

import re

# Seconds of a processor, twice what one query of a hundred takes over 190,000 documents. Threads
# that wait for each other take up to twice as long for the same, and answer half as many requests.
AT_MOST = 0.005
PATIENCE = 0.05  # seconds that it may take beside others, which is no sign of a long query
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
    ...     quick.took(0.002, 0.0005)
    >>> quick.expected
    True
    >>> quick.took(0.08, 0.0005)  # it waited for a disk
    >>> quick.expected
    False
    """

    def __init__(self, *, here: bool) -> None:
        self._here, self._in_a_row = here, 0

    def took(self, seconds: float, of_processor: float) -> None:
        """Count an answer by the time of its work, and the processor's time in it."""
        quick = seconds <= PATIENCE and of_processor <= AT_MOST
        self._in_a_row = self._in_a_row + 1 if quick else 0

    @property
    def expected(self) -> bool:
        """Whether the next plain request should be answered quickly, as the last ones were."""
        return self._here and self._in_a_row >= IN_A_ROW
