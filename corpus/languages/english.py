"""Lemmas of English words, which are folded before they are looked up."""

from functools import cache

from ranklet.corpus.languages.dictionary import dictionary, lemmatised
from ranklet.runtime.text.words import words


@cache
def lemma(word: str) -> str:
    """Return the lemma of a word, folded like all words; the lemma of a lemma is itself.

    >>> lemma("mice"), lemma("parsing"), lemma("dedented"), lemma("utf8")
    ('mouse', 'parse', 'dedent', 'utf8')
    >>> lemma("bacterium"), lemma("bacteria")
    ('bacteria', 'bacteria')
    """
    if word != word.lower():  # an acronym, such as WHO
        return word
    chain = [word]
    while chain[-1].isalpha():
        lemmas = _words(_looked_up(chain[-1]))
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
    found = dictionary("en").get(word) if word.isascii() else None
    return found or lemmatised(word, "en")


@cache
def known_forms() -> dict[str, str]:
    """Return every inflected form of the lemmatiser's dictionary with its lemma."""
    return {form: lemma(form) for form in dictionary("en") if _is_word(form)}


def is_known_form(word: str) -> bool:
    """Return whether `known_forms` has a word, without computing the others."""
    return word in dictionary("en") and _is_word(word)


def _is_word(form: str) -> bool:
    """Return whether a form is one word as texts have it, neither a phrase nor with capitals."""
    return _words(form) == [form]


def _words(text: str) -> list[str]:
    """Return the words of a text; most of a dictionary's 300,000 texts are one plain word."""
    plain = text.isascii() and text.isalpha() and text.islower()
    return [text] if plain else words(text)
