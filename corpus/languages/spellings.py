"""Count the words of a collection in several languages, each as it is written."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ranklet.runtime.text import scripts

# At most this share of a stop word's occurrences is in languages that do not list it. Texts quote
# other languages, and the language of a short text may be mistaken.
_QUOTED = 0.02


class Spellings:
    """The spellings of the words that spaces separate.

    Args:
        lists: the stop words of each language.
    """

    def __init__(self, lists: Mapping[str, AbstractSet[str]]) -> None:
        self._lists, self._every = lists, frozenset[str]().union(*lists.values())
        self._bare = scripts.bare_words(tuple(lists), self._every)
        self._written = scripts.splitter(tuple(lists), scripts.EVERY).words
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)  # by language

    def add(self, text: str, language: str) -> None:
        """Count the words of the next text."""
        self._counts[language].update(scripts.spaced(text, self._bare))

    def stop_words(self) -> frozenset[str]:
        """Return the listed words, except those that are ordinary words of another language here.

        War is a stop word in German, but not if there are English texts about wars.
        """
        listed, others = Counter[str](), Counter[str]()
        for language, counts in self._counts.items():
            for word, count in counts.items():
                for form in self._written(word)[-1:]:
                    if form in self._every:
                        (listed if form in self._lists[language] else others)[form] += count
        return frozenset(
            form for form in self._every if others[form] <= _QUOTED * (listed[form] + others[form])
        )
