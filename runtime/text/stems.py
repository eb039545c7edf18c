"""Stems of words by Snowball, by which words are compared and unknown words of queries found."""

from ranklet.runtime.text import scripts, words

# Snowball's names of languages, by code.
NAMES = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "st": "sesotho", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def has_stemmer(language: str) -> bool:
    """Return whether the installed Snowball has stems of a language."""
    from snowballstemmer import algorithms

    return NAMES.get(language) in algorithms()


def stem(word: str, language: str) -> str:
    """Return the folded stem of a word of a language that has a stemmer.

    >>> stem("Kneading", "en"), stem("chevaux", "fr")
    ('knead', 'cheval')
    """
    from snowballstemmer import stemmer

    # A stemmer keeps the word that it works on, so threads must not share one.
    found = stemmer(NAMES[language]).stemWord(word.lower())
    return words.fold(found) if language == "en" else scripts.fold(found)
