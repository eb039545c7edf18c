"""Tell which answers are so quick that a thread of their own would only delay them."""

import re

AT_MOST_MS = 1.0  # handing a request to a thread and its answer back takes a tenth of it
IN_A_ROW = 32  # so at most one in so many answers takes longer in the event loop
# A query and at most 99 documents. What else can be asked for may take long after many quick ones.
_PLAIN = re.compile(rb'\s*\{\s*"query"\s*:\s*"[^"\\]{0,500}"\s*(,\s*"k"\s*:\s*\d{1,2}\s*)?\}\s*')


class Quick:
    """Counts how many answers in a row were quick. Only the event loop's thread may use it.

    Args:
        here: whether the bundle lies on this machine, so that no answer waits for a network.

    >>> quick = Quick(here=True)
    >>> quick.expected(b'{"query": "dough"}')
    False
    >>> for _ in range(IN_A_ROW):
    ...     quick.took(0.5)
    >>> [quick.expected(b'{"query": "dough"%b}' % more) for more in (b"", b',"explain":true')]
    [True, False]
    >>> quick.took(30.0)
    >>> quick.expected(b'{"query": "dough"}')
    False
    """

    def __init__(self, *, here: bool) -> None:
        self._here, self._in_a_row = here, 0

    def took(self, ms: float) -> None:
        """Count an answer whose work took so many milliseconds."""
        self._in_a_row = self._in_a_row + 1 if ms <= AT_MOST_MS else 0

    def expected(self, sent: bytes) -> bool:
        """Return whether what was sent should be answered quickly, as the last ones were."""
        return self._here and self._in_a_row >= IN_A_ROW and bool(_PLAIN.fullmatch(sent))
