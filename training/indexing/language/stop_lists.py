"""Stop words of a language, from the lists of the package stop-words."""

from collections import defaultdict
from functools import cache

from ranklet.runtime.text import scripts
from ranklet.runtime.text.words import stop_words
from ranklet.training.indexing.language.dictionary import dictionary

# A listed word is kept if at most this share of its inflections is listed and at least this many
# are not. The lists also name frequent nouns in one of their forms, such as жизнь (life).
_KEPT_SHARE, _KEPT_FORMS = 1 / 3, 3
_NAMES = {"nb": "norwegian", "nn": "norwegian"}  # by which the package knows them


@cache
def stop_list(language: str) -> frozenset[str]:
    """Return the folded stop words of a language, none if there is no list.

    The ones of English are those of `ranklet.runtime.text.words`.
    """
    if language == "en":
        return stop_words()
    from stop_words import StopWordError, get_stop_words

    try:
        listed = get_stop_words(_NAMES.get(language, language))
    except StopWordError:
        return frozenset()
    words = {word: scripts.split(word) for word in listed}
    folded = {found[0] for found in words.values() if len(found) == 1}
    known = dictionary(language)
    lemmas = {word: known.get(word) or known.get(word.capitalize()) or word for word in words}
    forms: dict[str, set[str]] = defaultdict(set)
    wanted = set(lemmas.values())
    for form, lemma in known.items():
        if lemma in wanted:
            forms[lemma].update(scripts.split(form))
    kept = {
        scripts.fold(word)
        for word, lemma in lemmas.items()
        if len(forms[lemma] - folded) >= _KEPT_FORMS
        and len(forms[lemma] & folded) <= _KEPT_SHARE * len(forms[lemma])
    }
    return frozenset(folded - kept)
