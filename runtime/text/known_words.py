"""Divide words and runs of letters into words that a collection has.

A compound (Dokumentenbaum) gives its two parts and then itself. A run of a script without spaces
gives the words of its most probable division, by how many texts have each word.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import groupby
from math import inf, log

COMPOUNDING = frozenset({"da", "de", "fi", "hu", "nb", "nl", "nn", "sv"})
_LEAST, PART, _OFTEN = 8, 4, 3  # letters of a compound and of a part, and texts that have a part
_LINKS = ("", "s", "n", "e", "es", "en", "er")  # between the parts
_LONGEST = 16  # letters of a word in a script without spaces
_UNKNOWN = 3.0  # how much less probable a letter outside of all words is than the rarest word

Span = tuple[int, int]


class KnownWords:
    """The words of a collection by which others are divided.

    Args:
        languages: codes of the collection's languages.
        count: returns how many texts have a word; None if no word of theirs begins with it.
        total: returns the sum of all these numbers.
    """

    def __init__(
        self,
        languages: AbstractSet[str],
        count: Callable[[str], int | None],
        total: Callable[[], int],
    ) -> None:
        self._count, self._total = count, total
        self._divides = bool(COMPOUNDING & languages)
        # Chinese words stand next to pairs of letters, because they are short and often ambiguous.
        self.pairs = "zh" in languages

    def parts(self, word: str) -> tuple[Span, Span] | None:
        """Return where the two parts of a compound are; None for another word.

        Of several divisions, the one whose rarer part is most frequent counts.

        >>> counts = {"dokument": 9, "baum": 4, "enbaum": 1}
        >>> words = KnownWords({"de"}, lambda word: counts.get(word, 0), lambda: 14)
        >>> words.parts("dokumentenbaum"), words.parts("dokumente")
        (((0, 8), (10, 14)), None)
        """
        if not self._divides or len(word) < _LEAST or not word.isalpha():
            return None
        most, found = _OFTEN - 1, None
        for begin in range(PART, len(word) - PART + 1):
            second = self._count(word[begin:]) or 0
            if second <= most:
                continue
            for link in _LINKS:
                end = begin - len(link)
                if end >= PART and word.startswith(link, end):
                    rarer = min(second, self._count(word[:end]) or 0)
                    if rarer > most:
                        most, found = rarer, ((0, end), (begin, len(word)))
        return found

    @cached_property
    def _log_total(self) -> float:
        return log(max(1, self._total()))

    def division(self, letters: Sequence[str]) -> list[tuple[Span, bool]]:
        """Return the words of a run of letters, and whether each is known, by Viterbi's algorithm.

        Letters outside of known words are joined into one.

        >>> counts = {"東京": 5, "京都": 4, "に": 9}
        >>> words = KnownWords({"ja"}, lambda word: counts.get(word, 0), lambda: 18)
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
