"""Collect the words of a collection in one language or in several."""

from collections.abc import Callable, Iterable

from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import ENGLISH, Vocabulary, splitter
from ranklet.training.indexing.language.detection import Detected
from ranklet.training.indexing.language.names import AUTO
from ranklet.training.indexing.language.normaliser import normaliser
from ranklet.training.indexing.language.options import TextOptions
from ranklet.training.indexing.language.spellings import Spellings
from ranklet.training.indexing.language.stop_lists import stop_list
from ranklet.training.indexing.lemmas import vocabulary
from ranklet.training.indexing.word_tokens import WordTokens


class CollectionWords:
    """The words of all texts, and the languages that these have.

    Args:
        options: the language, or that it is found out.

    Raises:
        InputError: stems are requested of a language that has none.
    """

    def __init__(self, options: TextOptions) -> None:
        self._method = options.normaliser
        self._detected = Detected() if options.language == AUTO else None
        if self._detected is None:
            normaliser(options.language, options.normaliser)  # raises before the texts are read
            self._begin((options.language,))

    def _begin(self, languages: tuple[str, ...]) -> None:
        self.languages = languages
        lists = {language: stop_list(language) for language in languages}
        every = frozenset[str]().union(*lists.values())
        self._spellings = Spellings(lists)
        # What is a stop word in one of several languages only is decided at the end.
        stopped = sorted(every) if len(languages) == 1 else []
        self._tokens = WordTokens(stopped, splitter(languages, every))

    def add(self, text: str) -> None:
        """Add the words of the next text, or find out its language."""
        if self._detected is not None:
            self._detected.add(text)
        else:
            self._add(text, self.languages[0])

    def finish(
        self,
        texts: Callable[[], Iterable[str]],
        known_words: Iterable[str] = (),
        known_texts: Iterable[str] = (),
    ) -> tuple[Vocabulary, Forward]:
        """Return the vocabulary of all texts and their words, without stop words.

        Args:
            texts: returns the same texts again, which are split only now if their languages had to
                be found out.
            known_words: further words for the vocabulary.
            known_texts: texts whose words are further ones.
        """
        if self._detected is not None:
            self._begin(self._detected.languages())
            for text, language in zip(texts(), self._detected.each(), strict=True):
                self._add(text, language)
        stopped = self._spellings.stop_words()
        split = splitter(self.languages, stopped)
        known = {word for text in known_texts for word in split.words(text)}
        seen = {split.key(word) for word in (*self._tokens.words(), *known_words)} | known
        spellings = self._spellings.most_frequent(split.words)
        found = vocabulary(seen, self.languages, self._method, spellings, stopped)
        return found, self._tokens.forward(found)

    def _add(self, text: str, language: str) -> None:
        self._tokens.add(text)
        if self.languages != ENGLISH:
            self._spellings.add(text, language)
