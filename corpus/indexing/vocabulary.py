"""Build the vocabulary of a collection: its words, and the classes of their forms."""

from collections.abc import Collection as Sized
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import NO_WORD, STOPPED, Vocabulary
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.names import ENGLISH, STEM
from ranklet.runtime.text.words import stop_words

ENGLISH_STEMS = WordClasses(ENGLISH, STEM)
_FEW = 32  # a look-up by bisection takes as long as reading so many strings


def vocabulary(
    seen: Sized[str],
    languages: Sequence[str] = ENGLISH,
    classes: WordClasses | Mapping[str, str] = ENGLISH_STEMS,
    stopped: AbstractSet[str] | None = None,
    known: Mapping[str, int] | None = None,
    particles: AbstractSet[str] = frozenset(),
    lemmas: Mapping[str, str] | None = None,
) -> Vocabulary:
    """Build the vocabulary of a collection from the words in it.

    Args:
        seen: the distinct words, stop words included.
        languages: the languages of the collection, most frequent first.
        classes: finds the classes of words; or the lemmas of forms, which then are words, too.
        stopped: the stop words, as they are written; None for the English ones.
        known: how many texts have each word that divides others, all of which are in `seen`.
        particles: those of the stop words that are not indexed; in English none is.
        lemmas: the lemmas of words that are known already.

    Returns:
        The words and their classes, in byte order.
    """
    stopped = stop_words() if stopped is None else stopped
    given, found = (classes, None) if isinstance(classes, Mapping) else ({}, classes)
    left_out = stopped if tuple(languages) == ENGLISH else particles
    words = {*seen, *given} - left_out
    known_lemmas = lemmas if found and lemmas else given
    lemma_of = {
        word: known_lemmas.get(word) or (found.of(word) if found else word) for word in words
    }
    beginning_of = {word: found.beginning(word) for word in words} if found and found.begin else {}
    for word in words & stopped if beginning_of else ():
        beginning_of[word] = lemma_of[word]  # counts twice, because its postings would be many
    others = {word: word for word in stopped - left_out - words}  # no text has them, so no class
    forms = sorted({*words, *stopped, *lemma_of.values(), *beginning_of.values()}, key=str.encode)
    number = {form: index for index, form in enumerate(forms)}
    classless = dict.fromkeys(forms, NO_WORD) | dict.fromkeys(left_out, STOPPED)

    def numbers(class_of: Mapping[str, str]) -> NDArray[np.int32]:
        ids = {word: number[own] for word, own in {**class_of, **others}.items()}
        return np.array(list((classless | ids).values()), np.int32)

    return Vocabulary(
        SortedStrings.pack(forms),
        numbers(lemma_of),
        tuple(languages),
        np.array([known.get(form, 0) for form in forms], np.uint32) if known else None,
        np.array(sorted(number[form] for form in stopped - left_out), np.int32),
        numbers(beginning_of) if beginning_of else None,
        (lambda: found) if found else None,
    )


def places(forms: SortedStrings, wanted: Sized[str]) -> dict[str, int]:
    """Return the place of each wanted string among some forms, −1 if it is not there."""
    if len(wanted) * _FEW < len(forms):
        return {string: forms.find(string) for string in wanted}
    place = {form: at for at, form in enumerate(forms.every_raw())}
    # As in `find`, a lone surrogate must not match the "?" that would replace it.
    return {string: place.get(string.encode("utf-8", "surrogatepass"), -1) for string in wanted}
