"""Make the vocabulary of a changed collection from the vocabularies of its bundles.

The result is what `vocabulary` would build from all texts in English with lemmas, but the
lemmatiser sees new words only.
"""

from bisect import bisect_left
from collections.abc import Collection as Sized
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.origins import Origins, joined_strings
from ranklet.corpus.languages.english import is_known_form, known_forms, lemma
from ranklet.runtime.storage.strings import SortedStrings, Strings
from ranklet.runtime.text.analysis import STOPPED, Vocabulary

_FEW = 32  # a look-up by bisection takes as long as reading so many strings


class Words(NamedTuple):
    """The vocabulary of a bundle, and which of its forms are words of documents."""

    vocabulary: Vocabulary
    before: NDArray[np.bool_]  # of any document of the bundle, (forms,)
    now: NDArray[np.bool_]  # of one that is in the changed collection, (forms,)


class Changed(NamedTuple):
    """A vocabulary, and the numbers in it of each bundle's forms."""

    vocabulary: Vocabulary
    numbers: list[NDArray[np.int32]]  # by form of each bundle, −1 if it has gone


def changed_vocabulary(bundles: Sequence[Words], new: Sized[str]) -> Changed:
    """Return the vocabulary of a changed collection, made from the bundles' vocabularies.

    Args:
        bundles: one bundle or more, which were all built with the known words that are in `new`.
        new: words that the vocabulary must have, those of new documents for example.
    """
    one, joined_numbers = _joined(bundles)
    forms, lemma_of = one.vocabulary.forms, one.vocabulary.lemma_of
    place_of = places(forms, new)
    now, stopped = one.now.copy(), lemma_of == STOPPED
    now[[place for place in place_of.values() if place >= 0]] = True
    was_lemma = np.zeros(len(forms), np.bool_)
    was_lemma[lemma_of[~stopped]] = True
    is_lemma = np.zeros(len(forms), np.bool_)
    is_lemma[lemma_of[now & ~stopped]] = True

    added = {word: lemma(word) for word, place in place_of.items() if place < 0}
    bases = places(forms, set(added.values()))
    fresh = {base for base, place in bases.items() if place < 0 or not was_lemma[place]}
    is_lemma[[place for place in bases.values() if place >= 0]] = True
    if fresh:
        more = {form: base for form, base in known_forms().items() if base in fresh}
        more |= {base: base for base in fresh}
        present = places(forms, more)
        added |= {form: base for form, base in more.items() if present[form] < 0}

    kept = now | stopped | is_lemma
    # Of a lemma that remains, all forms do that the dictionary knows. It knows every form that no
    # document had, because nothing else has put it there.
    related = ~kept & is_lemma[np.where(stopped, 0, lemma_of)]
    kept |= related & ~one.before
    for place in np.flatnonzero(related & one.before).tolist():
        kept[place] = is_known_form(forms[place])
    changed, numbers = _inserted(one.vocabulary, kept, added)
    return Changed(changed, [numbers[each] for each in joined_numbers])


def places(forms: SortedStrings, wanted: Sized[str]) -> dict[str, int]:
    """Return the place of each wanted string among some forms, −1 if it is not there."""
    if len(wanted) * _FEW < len(forms):
        return {string: forms.find(string) for string in wanted}
    place = {form: at for at, form in enumerate(forms.every_raw())}
    # As in `find`, a lone surrogate must not match the "?" that would replace it.
    return {string: place.get(string.encode("utf-8", "surrogatepass"), -1) for string in wanted}


def _joined(bundles: Sequence[Words]) -> tuple[Words, list[NDArray[np.int32]]]:
    """Join several vocabularies; return the result and each one's form numbers in it."""
    if len(bundles) == 1:
        return bundles[0], [np.arange(len(bundles[0].vocabulary), dtype=np.int32)]
    raw = [each.vocabulary.forms.every_raw() for each in bundles]
    ordered = sorted({form for forms in raw for form in forms})
    place = {form: at for at, form in enumerate(ordered)}
    numbers = [np.array([place[form] for form in forms], np.int32) for forms in raw]
    lemma_of = np.full(len(ordered), STOPPED, np.int32)
    before, now = (np.zeros(len(ordered), np.bool_) for _ in range(2))
    for each, own in zip(bundles, numbers, strict=True):
        table = each.vocabulary.lemma_of
        lemma_of[own] = np.where(table == STOPPED, STOPPED, own[table])
        before[own] |= each.before
        now[own] |= each.now
    packed = Strings.pack(form.decode() for form in ordered)
    vocabulary = Vocabulary(SortedStrings(packed.data, packed.offsets), lemma_of)
    return Words(vocabulary, before, now), numbers


def _inserted(
    old: Vocabulary, kept: NDArray[np.bool_], added: dict[str, str]
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Return the kept forms and the added ones, in the order of their bytes.

    Args:
        old: the vocabulary before.
        kept: which of its forms remain, (forms,).
        added: the lemma of each added form, which is none of the old ones.

    Returns:
        The vocabulary, and the new number of each old form, −1 for those that do not remain.
    """
    new = sorted(added, key=str.encode)
    forms = old.forms
    before = [bisect_left(range(len(forms)), form.encode(), key=forms.raw) for form in new]
    place = np.array(before, np.int64)
    rank = np.append(0, np.cumsum(kept))  # number of kept forms before each old one
    moved = rank[:-1] + np.searchsorted(place, np.arange(len(forms)), side="right")
    numbers: NDArray[np.int32] = np.where(kept, moved, -1).astype(np.int32)
    own = rank[place] + np.arange(len(new))
    count = int(rank[-1]) + len(new)

    part, number = np.zeros(count, np.int64), np.zeros(count, np.int64)
    number[numbers[kept]] = np.flatnonzero(kept)
    part[own], number[own] = 1, np.arange(len(new))
    packed = joined_strings(Origins((), part, number), [forms, Strings.pack(new)])
    result = SortedStrings(packed.data, packed.offsets)
    lemma_of = np.empty(count, np.int32)
    table = old.lemma_of[kept]
    lemma_of[numbers[kept]] = np.where(table == STOPPED, STOPPED, numbers[table])
    found = places(result, set(added.values()))
    lemma_of[own] = [found[added[form]] for form in new]
    return Vocabulary(result, lemma_of), numbers
