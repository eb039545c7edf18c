"""Forms of words and their lemmas, by simplemma (dictionaries and a few rules, no model)."""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simplemma import Lemmatizer
    from simplemma.strategies.dictionaries import DictionaryFactory


def is_installed() -> bool:
    """Return whether the package with the dictionaries is installed."""
    return find_spec("simplemma") is not None


@lru_cache(8)  # as many as simplemma keeps, whose own cache is too slow to ask for each word
def dictionary(language: str) -> Mapping[str, str]:
    """Return the lemma of each known form of a language, empty if it has no dictionary.

    Forms and lemmas have their capitals and accents.
    """
    try:
        found: Mapping[str, str] = _dictionaries().get_dictionary(language)
    except ValueError:  # simplemma does not know the language
        return {}
    return found


def lemmatised(word: str, language: str) -> str:
    """Return the lemma of a word as it was written, by dictionary or rules; or the word itself."""
    known = dictionary(language)
    if not known:
        return word
    return known.get(word) or _lemmatizer().lemmatize(word, language)


@cache
def _dictionaries() -> "DictionaryFactory":
    """Return the reader of dictionaries: simplemma's own if it shares it, otherwise a new one."""
    from simplemma.strategies.dictionaries import dictionary_factory

    shared: DictionaryFactory | None = getattr(
        dictionary_factory, "DEFAULT_DICTIONARY_FACTORY", None
    )
    return shared or dictionary_factory.DefaultDictionaryFactory()


@cache
def _lemmatizer() -> "Lemmatizer":
    """Return a lemmatiser that shares the dictionaries, which take up to 300 MB of memory."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy

    return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=_dictionaries()))
