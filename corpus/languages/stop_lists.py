"""Stop words of a language, from the lists of the package stop-words."""

import re
from functools import cache

from ranklet.runtime.text import scripts
from ranklet.runtime.text.words import stop_words

_NAMES = {"nb": "norwegian", "nn": "norwegian"}  # by which the package knows them
# Frequent nouns and the like, which the lists name in one of their forms.
_KEPT = {
    "bg": "автентичен време глас ден екип живот месец новина смях час часа юмрук",
    "cs": "večer design chuť",
    "es": "cuenta ejemplo largo partir trabaja trabajan trabajar trabajas trabajo",
    "fi": "aika apu asia asiat kiitos",
    "fr": "haut nommé nommée pièce suivant dire",
    "id": "anak orang",
    "it": "nuovo nuovi doppio comprare",
    "nl": "veel",
    "pl": "kierunku roku sposób nowe",
    "pt": "cara horas nome povo tempo verdade trabalho trabalhar novo",
    "ru": "время времени день дел жизнь имя люди мира начала человек процентов миллионов тысяч",
    "sk": "nová nové noví nový",
    "sv": "dag dagar dagarna dagen del delen nummer",
    "uk": "день життя ім'я люди людина мати миру мільйонів відсотків початку справ тисяч час часу",
}
# The list of Romanian has no accents.
_ROMANIAN = """
    aceasta această acelaşi adică altă alături alţi alţii apoi aş aţi astă astăzi asupra atât atâta
    atâtea atâţia atunci avea că câţi câte câteva câtă când cât căci către cărui cărei da dă după
    fără fi fie fiecare îi îl îmi împotriva în înainte înapoi încât încă între întrucât își îşi îţi
    însă lângă mă mâine mulţi multă niciodată nişte noştri noastră nouă oricând până puţin puţină
    săi să său şi și tăi tău toată toţi unei unui vă vouă vostru
"""
_SYLLABLE = re.compile("[αεο]ι|[αεηο]υ|υι|[αεηιουω]")  # its vowels, in Greek


@cache
def stop_list(language: str) -> frozenset[str]:
    """Return the stop words of a language as they are written, in lower case with their accents.

    There are none if there is no list. The ones of English are those of
    `ranklet.runtime.text.words`.

    Args:
        language: a code of `LANGUAGES`.
    """
    if language == "en":
        return stop_words()
    split = scripts.splitter((language,), scripts.EVERY).words
    words = map(split, _read_list(language) - set(_KEPT.get(language, "").split()))
    return frozenset(found[0] for found in words if len(found) == 1)


def _read_list(language: str) -> set[str]:
    """Return the words that the package lists, in the spelling of today's texts."""
    from stop_words import StopWordError, get_stop_words

    try:
        listed = {word.lower() for word in get_stop_words(_NAMES.get(language, language))}
    except StopWordError:
        return set()
    if language == "tr":  # the list was read in a wrong encoding
        return {word.translate(str.maketrans("ýþð", "ışğ")) for word in listed}
    if language == "cs":  # the list has ted' for teď
        return {word.replace("d'", "ď").replace("t'", "ť") for word in listed}
    if language == "ro":
        return listed | set(_ROMANIAN.split())
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
