"""Stop words of a language, from the lists of the package stop-words."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from ranklet.corpus.languages.dictionary import dictionary
from ranklet.runtime.text import scripts
from ranklet.runtime.text.words import stop_words

# A listed word is kept if at most this share of its inflections is listed and at least this many
# are not. The lists also name frequent nouns in one of their forms, such as жизнь (life).
_KEPT_SHARE, _KEPT_FORMS = 1 / 3, 3
_NAMES = {"nb": "norwegian", "nn": "norwegian"}  # by which the package knows them
_SYLLABLE = re.compile("[αεο]ι|[αεηο]υ|υι|[αεηιουω]")  # its vowels, in Greek


@cache
def stop_list(language: str, *, lemmas: bool = True) -> frozenset[str]:
    """Return the stop words of a language as they are written, in lower case with their accents.

    There are none if there is no list. The ones of English are those of
    `ranklet.runtime.text.words`.

    Args:
        language: a code of `LANGUAGES`.
        lemmas: whether a dictionary tells which words of a list are frequent nouns.
    """
    if language == "en":
        return stop_words()

    def written(word: str) -> list[str]:
        return split(word.lower())

    split = scripts.splitter((language,), scripts.EVERY).words
    known = dictionary(language) if lemmas else {}
    words = {word: written(word) for word in _listed(language, known)}
    listed = {found[0] for found in words.values() if len(found) == 1}
    lemma_of = {word: known.get(word) or known.get(word.capitalize()) or word for word in words}
    forms: dict[str, set[str]] = defaultdict(set)
    wanted = set(lemma_of.values())
    for form, lemma in known.items():
        if lemma in wanted:
            forms[lemma].update(written(form))
    kept = {
        form
        for word, lemma in lemma_of.items()
        if len(forms[lemma] - listed) >= _KEPT_FORMS
        and len(forms[lemma] & listed) <= _KEPT_SHARE * len(forms[lemma])
        for form in words[word]
    }
    return frozenset(listed - kept)


def _listed(language: str, known: Iterable[str]) -> set[str]:
    """Return the words that the package lists, in the spelling of today's texts.

    Args:
        language: a code of `LANGUAGES`.
        known: the forms of the language's dictionary.
    """
    from stop_words import StopWordError, get_stop_words

    try:
        listed = {word.lower() for word in get_stop_words(_NAMES.get(language, language))}
    except StopWordError:
        return set()
    if language == "tr":  # the list was read in a wrong encoding
        return {word.translate(str.maketrans("ýþð", "ışğ")) for word in listed}
    if language == "cs":  # the list has ted' for teď
        return {word.replace("d'", "ď").replace("t'", "ť") for word in listed}
    if language == "ro":  # the list has no accents
        return listed | {each for each in known if scripts.fold(each) in listed}
    if language == "el":  # the list is of ancient Greek
        return {each for word in listed for each in _monotonic(word)}
    return listed


def _monotonic(word: str) -> set[str]:
    """Return how an ancient Greek word may be written today: most of one syllable lost the accent.

    >>> sorted(_monotonic("καὶ")), _monotonic("ἀλλά")
    (['και', 'καὶ'], {'ἀλλά'})
    """
    bare = scripts.fold(word)
    return {word, bare} if len(_SYLLABLE.findall(bare)) == 1 else {word}
