"""Divide runs of letters in scripts without spaces into words that a collection has.

A run gives the words of its most probable division, by how many texts have each word.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby
from math import inf, log

_LONGEST = 16  # letters of a word
_UNKNOWN = 3.0  # how much less probable a letter outside of all words is than the rarest word

Span = tuple[int, int]


class KnownWords:
    """The words of a collection by which runs of letters are divided.

    Args:
        count: returns how many texts have a word; None if no word of theirs begins with it.
        total: returns the sum of all these numbers.
        pairs: whether pairs of letters stand next to words. Those of Chinese do, because its words
            are short and often ambiguous.
    """

    def __init__(
        self, count: Callable[[str], int | None], total: Callable[[], int], *, pairs: bool = False
    ) -> None:
        self._count, self._total, self.pairs = count, total, pairs

    @cached_property
    def _log_total(self) -> float:
        return log(max(1, self._total()))

    def division(self, letters: Sequence[str]) -> list[tuple[Span, bool]]:
        """Return the words of a run of letters, and whether each is known, by Viterbi's algorithm.

        Letters outside of known words are joined into one.

        >>> counts = {"東京": 5, "京都": 4, "に": 9}
        >>> words = KnownWords(lambda word: counts.get(word, 0), lambda: 18)
        >>> words.division("東京都に東京タワ")
        [((0, 2), True), ((2, 3), False), ((3, 4), True), ((4, 6), True), ((6, 8), False)]
        """
        size = len(letters)
        best, came, known = [0.0, *[inf] * size], [0] * (size + 1), [False] * (size + 1)
        for begin in range(size):
            before, word = best[begin] + self._log_total, ""
            if before + _UNKNOWN < best[begin + 1]:
                best[begin + 1], came[begin + 1] = before + _UNKNOWN, begin
                known[begin + 1] = False
            for end in range(begin + 1, min(begin + _LONGEST, size) + 1):
                word += letters[end - 1]
                count = self._count(word)
                if count is None:
                    break
                if count and before - log(count) <= best[end]:
                    best[end], came[end], known[end] = before - log(count), begin, True
        spans, end = list[tuple[Span, bool]](), len(letters)
        while end:
            spans.append(((came[end], end), known[end]))
            end = came[end]
        divided = list[tuple[Span, bool]]()
        for is_known, group in groupby(reversed(spans), key=lambda each: each[1]):
            words = [span for span, _ in group]
            if is_known:
                divided += [(span, True) for span in words]
            else:
                divided.append(((words[0][0], words[-1][1]), False))
        return divided
