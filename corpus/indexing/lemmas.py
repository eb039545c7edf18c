"""Build a collection's table from word forms to lemmas, so that serving needs no lemmatiser.

Besides the words of the collection, the table holds all forms of their lemmas that a dictionary
knows. So a query may use an inflection that no document has.

With stems, a class of forms is larger than the forms of one lemma. It is represented by a word
instead of its stem, so that explanations stay readable.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Sized
from collections.abc import Set as AbstractSet

import numpy as np

from ranklet.corpus.languages.names import STEM, has_lemmas
from ranklet.corpus.languages.normaliser import Class, Normaliser, normaliser
from ranklet.corpus.languages.spellings import Spelling
from ranklet.corpus.languages.stop_lists import stop_list
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import ENGLISH, STOPPED, Vocabulary, splitter


def vocabulary(
    seen: Sized[str],
    languages: Sequence[str] = ("en",),
    method: str = "lemma",
    spellings: Mapping[str, Spelling] | None = None,
    stopped: AbstractSet[str] | None = None,
    known: Mapping[str, int] | None = None,
    particles: AbstractSet[str] = frozenset(),
) -> Vocabulary:
    """Build the vocabulary of a collection from the words in it.

    Args:
        seen: the distinct words, stop words included.
        languages: the languages of the collection, most frequent first.
        method: one of `NORMALISERS`.
        spellings: how words were written, and in which language, most often; other words count as
            written without capitals and accents in the first language.
        stopped: the stop words, as they are written; None for those of the languages.
        particles: those of the stop words that are not indexed; in English none is.
        known: how many texts have each word that divides others, all of which are in `seen`.

    Returns:
        The words, their lemmas and the other known forms of these lemmas, in byte order, each with
        its lemma. A stop word is its own lemma, or has none.
    """
    written = spellings or {}
    normalisers = {language: normaliser(language, method) for language in languages}
    if stopped is None:
        lists = (stop_list(each, lemmas=has_lemmas(method)) for each in languages)
        stopped = frozenset[str]().union(*lists)

    def spelling(form: str) -> Spelling:
        return written.get(form) or Spelling(form, languages[0], 1)

    seen_classes: dict[str, Class] = {}
    counts: Counter[str] = Counter()
    for form in seen:
        if form not in stopped:
            word, language, count = spelling(form)
            acronym = form != form.lower()  # WHO is no form of who
            word_class = Class(form, form) if acronym else normalisers[language].of(word)
            seen_classes[form] = word_class
            counts[word_class.key] += count
    split = splitter(languages, stopped).words
    known_classes = _known(normalisers.values(), counts, split)
    name_of = _names(known_classes.values(), seen_classes.values(), stopped)
    left_out = stopped if tuple(languages) == ENGLISH else particles
    every = {**known_classes, **seen_classes}.items()
    indexed = stopped - left_out
    renamed: dict[str, str] = {}
    for form, (key, _) in every:  # no class has the name of a stop word that is indexed
        if form not in stopped and name_of[key] in indexed:
            renamed[key] = min(renamed.get(key, form), form)
    name_of |= renamed
    lemma_of = {form: name_of[word_class.key] for form, word_class in every if form not in stopped}
    for name in name_of.values():
        if name not in stopped:
            lemma_of.setdefault(name, name)
    stems = tuple(languages) if method == STEM else ()
    for key in counts if stems else ():  # so that a query's unknown forms find their class
        if key not in stopped:
            lemma_of.setdefault(key, name_of[key])
    forms = sorted({*lemma_of, *stopped, *name_of.values()}, key=str.encode)
    number = {form: index for index, form in enumerate(forms)}
    table = [STOPPED if form in left_out else number[lemma_of.get(form, form)] for form in forms]
    return Vocabulary(
        SortedStrings.pack(forms),
        np.array(table, np.int32),
        tuple(languages),
        np.array([known.get(form, 0) for form in forms], np.uint32) if known else None,
        np.array(sorted(number[form] for form in indexed), np.int32),
        stems,
    )


def _known(
    normalisers: Iterable[Normaliser], counts: Counter[str], split: Callable[[str], list[str]]
) -> dict[str, Class]:
    """Return the forms in dictionaries that belong to the classes of a collection.

    A form of several languages belongs to the first of them. If accents distinguish its classes in
    a language, it belongs to the one whose words the collection has most often.
    """
    every: dict[str, Class] = {}
    for each in normalisers:
        known: dict[str, Class] = {}
        for form, found in each.known(counts.keys(), split):
            if form not in known or counts[found.key] > counts[known[form].key]:
                known[form] = found
        every = {**known, **every}
    return every


def _names(
    known: Iterable[Class], seen: Iterable[Class], stopped: AbstractSet[str]
) -> dict[str, str]:
    """Return the word that represents each class, by its key.

    It is the shortest lemma in the dictionary, so that it is the same in other collections, and no
    stop word if possible. A class that the dictionary does not know has its shortest word.
    """
    best: dict[str, tuple[bool, bool, int, str]] = {}
    for unknown, classes in ((False, known), (True, seen)):
        for key, name in classes:
            rank = (name in stopped, unknown, len(name), name)
            best[key] = min(best.get(key, rank), rank)
    return {key: name for key, (_, _, _, name) in best.items()}
