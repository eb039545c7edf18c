"""Find the words of a collection in one language or in several."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ranklet.runtime.extras import install
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import ENGLISH, Vocabulary, splitter
from ranklet.runtime.text.known_words import COMPOUNDING, PART, KnownWords
from ranklet.training.indexing.language.detection import languages_of, shares_of
from ranklet.training.indexing.language.names import AUTO, LEMMA, STEM, has_lemmas
from ranklet.training.indexing.language.options import TextOptions
from ranklet.training.indexing.language.segmenters import EXTRAS, Counts, Segmenters
from ranklet.training.indexing.language.spellings import Spellings
from ranklet.training.indexing.language.stop_lists import stop_list
from ranklet.training.indexing.lemmas import vocabulary
from ranklet.training.indexing.word_tokens import WordTokens
from ranklet.training.progress import progress

_log = logging.getLogger(__name__)


class CollectionWords(NamedTuple):
    """The words of all texts."""

    vocabulary: Vocabulary
    tokens: Forward  # the words of each text, without stop words
    shares: Mapping[str, float]  # of the texts that are in each language, by its code


def collection_words(
    texts: Sequence[str],
    options: TextOptions,
    known_words: Iterable[str] = (),
    known_texts: Iterable[str] = (),
) -> CollectionWords:
    """Return the words of all texts, in the language that is given or in those that they have.

    Args:
        texts: the texts, which are read more than once.
        options: the language, or that it is found out.
        known_words: further words for the vocabulary.
        known_texts: texts whose words are further ones.
    """
    shares = _shares(texts, options)
    languages, language_of = tuple(shares), list(languages_of(texts, shares))
    method = options.method
    if options.normaliser == AUTO and method != LEMMA:
        _log.warning(
            "words are compared %s, because the package simplemma is missing; by lemmas more of "
            "their forms are found: %s",
            "by their stems" if method == STEM else "as they are",
            install("lexical"),
        )
    reading = progress(languages, "reading dictionaries")
    lists = {each: stop_list(each, lemmas=has_lemmas(method)) for each in reading}
    counts, particles = _counts(texts, language_of, lists)
    every = frozenset[str]().union(*lists.values())
    known = None
    if counts:
        known = KnownWords(frozenset(languages), lambda word: counts.get(word, 0), counts.total)
    spellings = Spellings(lists)
    left_out = sorted(every) if languages == ENGLISH else []
    tokens = WordTokens(left_out, splitter(languages, every, known))
    shown = progress(texts, "finding words", len(texts))
    for text, language in zip(shown, language_of, strict=True):
        tokens.add(text)
        if languages != ENGLISH:
            spellings.add(text, language)
    stopped = spellings.stop_words()
    split = splitter(languages, stopped, known)
    found_words = {word for text in known_texts for word in split.words(text)}
    seen = {split.key(word) for word in (*tokens.words(), *known_words, *counts)} | found_words
    written = spellings.most_frequent(splitter(languages, stopped).words)
    found = vocabulary(seen, languages, method, written, stopped, counts, particles)
    return CollectionWords(found, tokens.forward(found), shares)


def _shares(texts: Sequence[str], options: TextOptions) -> dict[str, float]:
    """Return the share of each language; all is English if nothing was chosen or can be found out.

    Raises:
        ModuleNotFoundError: the languages must be found out, and the package for it is missing.
    """
    if options.language != AUTO:
        return {options.language: 1.0}
    try:
        return shares_of(texts)
    except ModuleNotFoundError:
        if options.normaliser != AUTO:
            raise
        _log.warning(
            "the texts are read as English, because the package that finds out languages is "
            "missing; name theirs by --language, or run: %s",
            install("lexical"),
        )
        return {"en": 1.0}


def _counts(
    texts: Sequence[str], language_of: Sequence[str], lists: dict[str, frozenset[str]]
) -> tuple[Counter[str], frozenset[str]]:
    """Return how many texts have each word by which others are divided, and the particles.

    Args:
        texts: the texts.
        language_of: the language of each text.
        lists: the stop words of each language, to which particles are added.
    """
    counts, compounding = Counter[str](), COMPOUNDING & lists.keys()
    segmenters = Segmenters(lists)
    if not compounding and not segmenters:
        return counts, frozenset()
    split = splitter(tuple(lists), frozenset[str]().union(*lists.values()))
    unspaced = Counts(segmenters)
    shown = progress(texts, "counting words", len(texts))
    for text, language in zip(shown, language_of, strict=True):
        if language in compounding:
            words = set(split.words(text)) - lists[language]
            counts.update(word for word in words if len(word) >= PART and word.isalpha())
        elif segmenters:
            unspaced.add(split.unspaced(text))
    particles = unspaced.particles()
    for language in lists:
        if language in EXTRAS:
            lists[language] |= particles
    return counts + unspaced.texts, particles
