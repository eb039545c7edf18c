"""Build a collection's table from word forms to lemmas, so that serving needs no lemmatiser.

The lemmatiser is simplemma (a dictionary and a few rules, no model). Besides the words of the
collection, the table holds all forms of their lemmas that its dictionary knows. So a query may use
an inflection that no document has.
"""

from collections.abc import Collection as Sized
from collections.abc import Mapping
from functools import cache

import numpy as np

from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.strings import SortedStrings
from ranklet.runtime.text.words import stop_words, words

LANGUAGE = "en"


@cache
def lemma(word: str) -> str:
    """Return the lemma of a word, folded like all words; the lemma of a lemma is itself.

    >>> lemma("mice"), lemma("parsing"), lemma("dedented"), lemma("utf8")
    ('mouse', 'parse', 'dedent', 'utf8')
    >>> lemma("bacterium"), lemma("bacteria")
    ('bacteria', 'bacteria')
    """
    chain = [word]
    while chain[-1].isalpha():
        lemmas = words(_looked_up(chain[-1]))
        if len(lemmas) != 1:
            break
        if lemmas[0] in chain:  # all words of a loop, usually one, must get the same lemma
            return min(chain[chain.index(lemmas[0]) :])
        chain.append(lemmas[0])
    return chain[-1]


def _looked_up(word: str) -> str:
    """Return what the lemmatiser makes of a word of letters, in one step.

    It looks up a word in its dictionary before it tries anything else, so a plain word that is
    there needs none of its checks, which take fifty times as long.
    """
    import simplemma

    found = _dictionary().get(word) if word.isascii() else None
    return found or simplemma.lemmatize(word, lang=LANGUAGE)


@cache
def _dictionary() -> Mapping[str, str]:
    """Return the lemmatiser's dictionary; the one that it uses, if it shares that."""
    from simplemma.strategies.dictionaries import dictionary_factory

    shared = getattr(dictionary_factory, "DEFAULT_DICTIONARY_FACTORY", None)
    factory = shared or dictionary_factory.DefaultDictionaryFactory()
    dictionary: Mapping[str, str] = factory.get_dictionary(LANGUAGE)
    return dictionary


def vocabulary(seen: Sized[str]) -> Vocabulary:
    """Build the vocabulary of a collection from the words in it.

    Args:
        seen: the distinct words, stop words included.

    Returns:
        The words, their lemmas and the other known forms of these lemmas, in byte order, each with
        its lemma. Stop words have no lemma.
    """
    stopped = stop_words()
    lemma_of = {form: lemma(form) for form in seen if form not in stopped}
    lemmas = set(lemma_of.values())
    lemma_of |= {form: base for form, base in _known_forms().items() if base in lemmas}
    for base in lemmas:
        lemma_of.setdefault(base, base)  # `lemma` already followed lemmas of lemmas to the end
    for word in stopped:
        lemma_of.pop(word, None)
    forms = sorted({*lemma_of, *stopped, *lemmas}, key=str.encode)
    number = {form: index for index, form in enumerate(forms)}
    table = [number[lemma_of[form]] if form in lemma_of else STOPPED for form in forms]
    return Vocabulary(SortedStrings.pack(forms), np.array(table, np.int32))


@cache
def _known_forms() -> dict[str, str]:
    """Return every inflected form of the lemmatiser's dictionary with its lemma."""
    lemma_of = {}
    for form in _dictionary():
        if words(form) == [form]:  # skips phrases and capitals
            lemma_of[form] = lemma(form)
    return lemma_of
