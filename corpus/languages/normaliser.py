"""Find what the forms of a word have in common: its lemma, or the lemma's stem."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple

from ranklet.corpus.languages.dictionary import dictionary, lemmatised
from ranklet.corpus.languages.english import known_forms, lemma
from ranklet.corpus.languages.names import LANGUAGES, has_lemmas
from ranklet.runtime.errors import InputError
from ranklet.runtime.text import scripts, words
from ranklet.runtime.text.stems import has_stemmer, stem


class Class(NamedTuple):
    """The class of forms that a form belongs to."""

    key: str  # what its forms have in common, folded
    name: str  # a word of the class that is readable, folded


class Normaliser:
    """Assigns the words of one language to classes of forms.

    Args:
        language: a code of `LANGUAGES`.
        method: one of `NORMALISERS`.

    Raises:
        InputError: only stems are requested, of a language that Snowball does not have.
    """

    def __init__(self, language: str, method: str) -> None:
        self.language, self.method = language, method
        self._fold = words.fold if language == "en" else scripts.fold
        self._stems = method == "stem" or (method == "lemma+stem" and has_stemmer(language))
        if self._stems and not has_stemmer(language):
            raise InputError(
                f"there are no stems of {LANGUAGES[language]}; pass --normaliser lemma or none"
            )
        self._end = cache(self._last_lemma)
        self._class_of = cache(self._class_of_lemma)

    def of(self, word: str) -> Class:
        """Return the class of a word as it was written."""
        if self.method == "none":
            return Class(self._fold(word), self._fold(word))
        return self._class_of(self._lemma(word))

    def known(
        self, keys: AbstractSet[str], split: Callable[[str], list[str]] = scripts.split
    ) -> Iterator[tuple[str, Class]]:
        """Yield the forms of the dictionary whose class has one of the keys, and the class.

        Forms that are no single word, such as phrases, are left out. Without lemmas there are none,
        because no dictionary is read.

        Args:
            keys: what the forms of each wanted class have in common.
            split: returns the words of a text.
        """
        if not has_lemmas(self.method):
            return
        if self.language == "en":
            for form, base in known_forms().items():
                found = self._class_of(base)
                if found.key in keys:
                    yield form, found
            return
        for form, base in dictionary(self.language).items():
            found = self._class_of(self._end(base))
            if found.key in keys and len(folded := split(form)) == 1:
                yield folded[0], found

    def _lemma(self, word: str) -> str:
        if self.method == "stem":
            return word
        if self.language == "en":
            return lemma(self._fold(word))
        return self._end(lemmatised(word, self.language)) if word.isalpha() else word

    def _last_lemma(self, word: str) -> str:
        """Follow lemmas to the end; in a cycle take the smallest."""
        lemmas, chain = dictionary(self.language), [word]
        while (following := lemmas.get(chain[-1])) is not None:
            if following in chain:
                return min(chain[chain.index(following) :])
            chain.append(following)
        return chain[-1]

    def _class_of_lemma(self, word: str) -> Class:
        name = self._fold(word)
        if not self._stems or not word.isalpha():
            return Class(name, name)
        return Class(stem(word, self.language), name)


@cache
def normaliser(language: str, method: str) -> Normaliser:
    """Return a normaliser, which keeps the lemmas and stems that it has found.

    Raises:
        InputError: as `Normaliser`.
    """
    return Normaliser(language, method)
