"""Find the words of a collection in one language or in several."""

import os
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from ranklet.corpus.indexing.vocabulary import vocabulary
from ranklet.corpus.indexing.word_tokens import WordReader, Words, WordTokens
from ranklet.corpus.languages.detection import SAMPLE, are_english, compute_shares, detect_languages
from ranklet.corpus.languages.forms import read_forms
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.languages.segmenters import EXTRAS, Counts, Segmenters
from ranklet.corpus.languages.spellings import Spellings
from ranklet.corpus.languages.stop_lists import stop_list
from ranklet.corpus.processes import Work, cut_blocks, each
from ranklet.corpus.progress import progress
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import Vocabulary, splitter
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.known_words import KnownWords
from ranklet.runtime.text.names import ENGLISH

_WORDS = 1 << 12  # words whose classes are found at a time
_MANY_WORDS = 1 << 20  # bytes of words from which on several processes find their classes


class CollectionWords(NamedTuple):
    """The words of all texts."""

    vocabulary: Vocabulary
    tokens: Forward  # the words of each text, without stop words
    shares: Mapping[str, float]  # of the texts that are in each language, by its code


class EarlyWords(NamedTuple):
    """The words of all texts, found while these were read."""

    tokens: WordTokens
    settings: Mapping[str, Any]  # by which they were found


def collection_words(
    texts: Sequence[str],
    options: TextOptions,
    known_words: Iterable[str] = (),
    known_texts: Iterable[str] = (),
    early: EarlyWords | None = None,
) -> CollectionWords:
    """Return the words of all texts, in the language that is given or in those that they have.

    Args:
        texts: the texts, which are read more than once.
        options: the language, or that it is found out.
        known_words: further words for the vocabulary.
        known_texts: texts whose words are further ones.
        early: the words of the texts, if they were found before; see `early_words`.

    Raises:
        CollectionError: a process has ended.
    """
    shares = compute_shares(texts) if options.language == AUTO else {options.language: 1.0}
    languages = tuple(shares)
    # A list of a code per text would be large.
    codes = array("B", map(languages.index, detect_languages(texts, shares)))
    lists = {code: stop_list(code) for code in languages}
    counts, particles = _counts(texts, lists)
    every = frozenset[str]().union(*lists.values())
    spellings = Spellings(lists) if len(languages) > 1 else None
    settings = _settings(languages, every, counts)

    def read() -> Iterator[bytes]:
        shown = progress(texts, "finding words", len(texts))
        for text, code in zip(shown, codes, strict=True):
            if spellings is not None:
                spellings.add(text, languages[code])
            yield text.encode()

    tokens = early.tokens if early and early.settings == settings else _tokens(read(), settings)
    known = _known(languages, counts)
    stopped = every if spellings is None else spellings.stop_words()
    split = splitter(languages, stopped, known)
    found_words = {word for text in known_texts for word in split.words(text)}
    seen = {split.key(word) for word in (*tokens.words(), *known_words, *counts)} | found_words
    classes: WordClasses | Mapping[str, str] = (
        read_forms(options.forms, languages[0])
        if options.forms
        else WordClasses(languages, options.normaliser)
    )
    lemmas = {} if options.forms else _classes(list(seen), languages, options.normaliser)
    found = vocabulary(seen, languages, classes, stopped, counts, particles, lemmas)
    return CollectionWords(found, tokens.forward(found), shares)


def early_words(texts: Iterator[bytes], options: TextOptions, size: int = 0) -> EarlyWords | None:
    """Read all texts, and return their words if these can be found meanwhile.

    They can where no word is divided by others and there is one language, which is given, or
    English because the first texts are. Whether all are English is known later. `size` is how many
    bytes the texts have, as far as that is known.
    """
    language, first = options.language, list[bytes]()
    if language == AUTO:
        first = list(islice(texts, SAMPLE))
        language = "en" if are_english([text.decode() for text in first]) else AUTO
    if language == AUTO or language in EXTRAS:
        deque(texts, 0)
        return None
    settings = _settings((language,), stop_list(language), {})
    return EarlyWords(_tokens(chain(first, texts), settings, size), settings)


def _settings(
    languages: Sequence[str], stopped: AbstractSet[str], counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return what `open_reader` gets."""
    return {
        "languages": tuple(languages),
        "stopped": sorted(stopped),
        "left_out": sorted(stopped) if languages == ENGLISH else [],
        "counts": dict(counts),
    }


def _tokens(texts: Iterable[bytes], settings: Mapping[str, Any], size: int = 0) -> WordTokens:
    """Return the words of texts, which are found by `open_reader`."""
    tokens, blocks = WordTokens(), cut_blocks(texts)
    for process, tokenize_texts, lengths, *new in each(open_reader, settings, blocks, size):
        spelled, numbers = [word.decode() for word in new], np.frombuffer(tokenize_texts, np.int32)
        tokens.add(Words(spelled, numbers, np.frombuffer(lengths, np.int64)), process)
    return tokens


def open_reader(settings: Mapping[str, Any]) -> Work:
    """Return what finds the words of texts: its process, tokens, lengths and new words.

    Args:
        settings: the languages, their stop words, those of them that no text has, and how many
            texts have each word that divides others.
    """
    languages, stopped = tuple(settings["languages"]), frozenset(settings["stopped"])
    split = splitter(languages, stopped, _known(languages, settings["counts"]))
    reader = WordReader(settings["left_out"], split)

    def read(texts: Sequence[bytes]) -> list[bytes]:
        words = reader.read(texts)
        numbers = [words.tokens.tobytes(), words.lengths.tobytes()]
        return [str(os.getpid()).encode(), *numbers, *map(str.encode, words.new)]

    return read


def _classes(words: Sequence[str], languages: Sequence[str], normaliser: str) -> dict[str, str]:
    """Return the class of each word."""
    settings = {"languages": languages, "normaliser": normaliser}
    parts = (words[at : at + _WORDS] for at in range(0, len(words), _WORDS))
    blocks = (list(map(str.encode, part)) for part in parts)
    found = chain.from_iterable(each(open_classes, settings, blocks, many=_MANY_WORDS))
    return dict(zip(words, map(bytes.decode, found), strict=True))


def open_classes(settings: Mapping[str, Any]) -> Work:
    """Return what finds the classes of words; see `WordClasses`."""
    classes = WordClasses(**settings)
    return lambda words: [classes.of(word.decode()).encode() for word in words]


def _known(languages: Sequence[str], counts: Mapping[str, int]) -> KnownWords | None:
    """Return the words that divide others, by how many texts have them; None if there are none."""
    if not counts:
        return None
    return KnownWords(
        lambda word: counts.get(word, 0), lambda: sum(counts.values()), pairs="zh" in languages
    )


def _counts(
    texts: Sequence[str], lists: dict[str, frozenset[str]]
) -> tuple[Counter[str], frozenset[str]]:
    """Return how many texts have each word by which others are divided, and the particles.

    Args:
        texts: the texts.
        lists: the stop words of each language, to which particles are added.
    """
    segmenters = Segmenters(lists)
    if not segmenters:
        return Counter(), frozenset()
    split = splitter(tuple(lists), frozenset[str]().union(*lists.values()))
    unspaced = Counts(segmenters)
    for text in progress(texts, "counting words", len(texts)):
        unspaced.add(split.unspaced(text))
    particles = unspaced.particles()
    for language in lists:
        if language in EXTRAS:
            lists[language] |= particles
    return unspaced.texts, particles
