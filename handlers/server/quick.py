"""Tell which answers are so quick that a thread of their own would only delay them."""

import re

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Retrieve

# Seconds of a processor, twice what one query of a hundred takes over 190,000 documents. Threads
# that wait for each other take up to twice as long for the same, and answer half as many requests.
AT_MOST = 0.005
PATIENCE = 0.05  # seconds that it may take beside others, which is no sign of a long query
IN_A_ROW = 32  # so at most one in so many answers takes longer in the event loop
MOST_IN_A_ROW = 4096
LONGEST = 1024  # bytes
PLAIN_PATH = "/rank"
# A query, at most 99 documents, and whether they come with their texts and marks.
_PLAIN = re.compile(
    rb'\s*\{\s*"query"\s*:\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*'
    rb'(?:,\s*"(?:k"\s*:\s*\d{1,2}|(?:marks|return_documents)"\s*:\s*(?:true|false))\s*)*\}\s*'
)


def is_plain(sent: bytes) -> bool:
    """Return whether a request asks for nothing that may take long after many quick answers.

    >>> is_plain(b'{"query": "dough", "k": 20, "marks": true}')
    True
    >>> is_plain(b'{"query": "dough", "explain": true}'), is_plain(b'{"query": "dough", "k": 200}')
    (False, False)
    """
    return len(sent) <= LONGEST and bool(_PLAIN.fullmatch(sent))


def is_lexical(bundle: Bundle) -> bool:
    """Return whether a plain request only looks up words, so that no model can make it slow."""
    stages, rankers = bundle.manifest.pipeline(None).stages, bundle.manifest.rankers
    return all(
        isinstance(each, Retrieve) and KINDS[rankers[each.ranker].kind].lexical for each in stages
    )


class Quick:
    """Counts how many plain requests in a row were answered quickly, in the event loop's thread.

    Each slow answer doubles how many are wanted, and twice as many quick ones in a row halve it.

    >>> quick = Quick()
    >>> for _ in range(IN_A_ROW):
    ...     quick.took(0.002, 0.0005)
    >>> quick.expected
    True
    >>> quick.took(0.08, 0.0005)  # it waited for a disk
    >>> for _ in range(IN_A_ROW):
    ...     quick.took(0.002, 0.0005)
    >>> quick.expected
    False
    """

    def __init__(self) -> None:
        self._in_a_row, self._wanted = 0, IN_A_ROW

    def took(self, seconds: float, of_processor: float, *, found: bool = True) -> None:
        """Count an answer by the time of its work, and the processor's time in it.

        One without hits, or a refusal, says nothing unless it was slow.
        """
        if seconds > PATIENCE or of_processor > AT_MOST:
            self._in_a_row, self._wanted = 0, min(2 * self._wanted, MOST_IN_A_ROW)
            return
        self._in_a_row += found
        if self._in_a_row >= 2 * self._wanted > 2 * IN_A_ROW:
            self._wanted //= 2

    @property
    def expected(self) -> bool:
        """Whether the next plain request should be answered quickly, as the last ones were."""
        return self._in_a_row >= self._wanted
