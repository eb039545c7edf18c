"""Find words in scripts without spaces, by packages that only indexing needs."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ranklet.corpus.languages.names import LANGUAGES
from ranklet.runtime.ground.extras import install

_log = logging.getLogger(__name__)

_JAPANESE = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_KANA = re.compile("[\u3040-\u30ff]")
_THAI_TO_KHMER = re.compile("[\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3]+")
EXTRAS = {"ja": "japanese", "zh": "chinese", **dict.fromkeys(("th", "lo", "km", "my"), "icu")}


class Word(NamedTuple):
    """A word of a run without spaces."""

    word: str
    is_particle: bool = False  # a function word, by what is around it


Segmenter = Callable[[str], Iterable[Word]]


class Segmenters:
    """The segmenters of some languages that have no spaces between words.

    A language whose package is not installed has none, and a warning says so.

    Args:
        languages: their codes, most frequent first.
    """

    def __init__(self, languages: Iterable[str]) -> None:
        self._by: dict[str, Segmenter] = {}
        for language in languages:
            if language in EXTRAS:
                try:
                    self._by[language] = _OPENED[EXTRAS[language]]()
                except ModuleNotFoundError:
                    _log.warning(
                        "%s is searched by pairs of letters; a package finds its words: %s",
                        LANGUAGES[language],
                        install(EXTRAS[language]),
                    )

    def __bool__(self) -> bool:
        return bool(self._by)

    def words(self, run: str) -> Iterator[Word]:
        """Yield the words of a run of letters without spaces; none in other languages."""
        japanese = self._by.get("ja")
        first = next((self._by[each] for each in self._by if each in ("ja", "zh")), None)
        for part in _JAPANESE.findall(run) if first else ():
            # Kana are Japanese. Chinese characters alone are in the more frequent language.
            segmenter = japanese if japanese and _KANA.search(part) else first
            yield from segmenter(part) if segmenter else ()
        others = next((self._by[each] for each in self._by if EXTRAS[each] == "icu"), None)
        for part in _THAI_TO_KHMER.findall(run) if others else ():
            yield from others(part) if others else ()


class Counts:
    """In how many texts each word is, and which are particles.

    Args:
        segmenters: find the words.
    """

    def __init__(self, segmenters: Segmenters) -> None:
        self._segmenters = segmenters
        self.texts = Counter[str]()
        self._all, self._particles = Counter[str](), Counter[str]()

    def add(self, runs: Iterable[str]) -> None:
        """Count the words of the runs of a text."""
        words = [word for run in runs for word in self._segmenters.words(run)]
        self.texts.update({each.word for each in words})
        self._all.update(each.word for each in words)
        self._particles.update(each.word for each in words if each.is_particle)

    def particles(self) -> frozenset[str]:
        """Return the words that are particles more often than not."""
        return frozenset(w for w, count in self._particles.items() if 2 * count > self._all[w])


def _japanese() -> Segmenter:
    import unidic_lite
    from fugashi import Tagger

    tagger = Tagger(f'-d "{unidic_lite.DICDIR}"')

    def words(run: str) -> Iterator[Word]:
        for node in tagger(run):
            yield Word(node.surface, node.feature.pos1 == "助詞")

    return words


def _chinese() -> Segmenter:
    from rjieba import cut

    return lambda run: map(Word, cut(run))


def _icu() -> Segmenter:
    from icu4py.breakers import WordBreaker

    def words(run: str) -> Iterator[Word]:
        for begin, end in WordBreaker(run, "th").segments():
            yield Word(run[begin:end])

    return words


_OPENED: dict[str, Callable[[], Segmenter]] = {
    "japanese": _japanese, "chinese": _chinese, "icu": _icu,
}  # fmt: skip
