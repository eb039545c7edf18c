"""The form → lemma table of a collection, so that serving needs no lemmatiser.

The lemmatiser is simplemma (a dictionary and a few rules, no model). Besides the words of the
collection, the table holds every form its dictionary knows of their lemmas: a query may then use
an inflection that no document does.
"""

from collections.abc import Collection as Sized
from functools import cache

import numpy as np

from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.strings import SortedStrings
from ranklet.runtime.text.words import stop_words, words

LANGUAGE = "en"


@cache
def lemma(word: str) -> str:
    """Return the lemma of a word in our own spelling of words; a lemma's lemma is itself.

    >>> lemma("mice"), lemma("parsing"), lemma("dedented"), lemma("utf8")
    ('mouse', 'parse', 'dedent', 'utf8')
    >>> lemma("bacterium"), lemma("bacteria")
    ('bacteria', 'bacteria')
    """
    import simplemma

    chain = [word]
    while chain[-1].isalpha():
        found = words(simplemma.lemmatize(chain[-1], lang=LANGUAGE))
        if len(found) != 1:
            break
        if found[0] in chain:  # a loop, mostly of one; of more, all must agree on one of them
            return min(chain[chain.index(found[0]) :])
        chain.append(found[0])
    return chain[-1]


def vocabulary(seen: Sized[str]) -> Vocabulary:
    """Build the vocabulary of a collection from the words seen in it.

    Args:
        seen: the different words, stop words included.

    Returns:
        Their forms, lemmas and the other known forms of these, in byte order, each with its lemma;
        stop words lead to no lemma.
    """
    stopped = stop_words()
    lemma_of = {form: lemma(form) for form in seen if form not in stopped}
    lemmas = set(lemma_of.values())
    lemma_of |= {form: base for form, base in _known_forms().items() if base in lemmas}
    for base in lemmas:
        lemma_of.setdefault(base, base)  # a lemma of a lemma has been followed to its end
    for word in stopped:
        lemma_of.pop(word, None)
    forms = sorted({*lemma_of, *stopped, *lemmas}, key=str.encode)
    number = {form: at for at, form in enumerate(forms)}
    table = [number[lemma_of[form]] if form in lemma_of else STOPPED for form in forms]
    return Vocabulary(SortedStrings.pack(forms), np.array(table, np.int32))


@cache
def _known_forms() -> dict[str, str]:
    """Return every inflected form of the lemmatiser's dictionary with its lemma."""
    from simplemma.strategies.dictionaries import DefaultDictionaryFactory

    found = {}
    for form in DefaultDictionaryFactory().get_dictionary(LANGUAGE):
        if words(form) == [form]:  # leaves out phrases and capitals
            found[form] = lemma(form)
    return found
