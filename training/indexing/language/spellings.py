"""Count how the words of a collection are written, in which language, before they are folded."""

from collections import Counter, defaultdict
from typing import NamedTuple

from ranklet.runtime.text import scripts


class Spelling(NamedTuple):
    """How a word is written most often."""

    word: str  # with capitals and accents
    language: str
    times: int


class Spellings:
    """The spellings of the words that spaces separate."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)  # by language

    def add(self, text: str, language: str) -> None:
        """Count the words of the next text."""
        self._counts[language].update(scripts.spaced(text))

    def most_frequent(self) -> dict[str, Spelling]:
        """Return the most frequent spelling of each folded word."""
        best: dict[str, Spelling] = {}
        for language, counts in self._counts.items():
            for word, count in counts.items():
                for form in scripts.split(word)[-1:]:  # a name in camel case follows its parts
                    if form not in best or count > best[form].times:
                        best[form] = Spelling(word, language, count)
        return best
