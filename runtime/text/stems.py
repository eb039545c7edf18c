"""Stems of words by Snowball.

Its Python modules are used, even where PyStemmer is installed, whose versions have other rules.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

# English names by ISO 639 codes, as py3langid uses them.
LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "an": "Aragonese", "ar": "Arabic", "as": "Assamese",
    "ast": "Asturian", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali",
    "br": "Breton", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "dz": "Dzongkha", "el": "Greek", "en": "English", "enm": "Middle English", "eo": "Esperanto",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fo": "Faroese", "fr": "French", "ga": "Irish", "gd": "Scottish Gaelic", "gl": "Galician",
    "grc": "Ancient Greek", "gu": "Gujarati", "gv": "Manx", "hbs": "Serbo-Croatian", "he": "Hebrew",
    "hi": "Hindi", "ht": "Haitian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "jv": "Javanese", "ka": "Georgian",
    "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish", "ky": "Kyrgyz",
    "la": "Latin", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian",
    "mg": "Malagasy", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian", "ne": "Nepali",
    "nl": "Dutch", "nn": "Norwegian Nynorsk", "oc": "Occitan", "or": "Odia", "pa": "Punjabi",
    "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "qu": "Quechua", "ro": "Romanian",
    "ru": "Russian", "rw": "Kinyarwanda", "se": "Northern Sami", "si": "Sinhala", "sk": "Slovak",
    "sl": "Slovenian", "sq": "Albanian", "st": "Sesotho", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "ug": "Uyghur",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "vo": "Volapük", "wa": "Walloon",
    "xh": "Xhosa", "yi": "Yiddish", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip


# The languages that Snowball has stems of, in lower case as it knows them.
SNOWBALL = {
    code: LANGUAGES[code].lower()
    for code in (
        "ar", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa", "fi", "fr", "ga",
        "hi", "hu", "hy", "id", "it", "lt", "nb", "ne", "nl", "pl", "pt", "ro", "ru", "st", "sv",
        "ta", "tr", "yi",
    )
}  # fmt: skip


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the function that finds the stem of a word in lower case.

    >>> stemmer("en")("kneading"), stemmer("fr")("chevaux")
    ('knead', 'cheval')

    Args:
        language: a code of `SNOWBALL`.
    """
    name = SNOWBALL[language]
    made = getattr(import_module(f"snowballstemmer.{name}_stemmer"), f"{name.capitalize()}Stemmer")

    def stem(word: str) -> str:
        # A stemmer keeps the word that it works on, so threads must not share one.
        found: str = made().stemWord(word)
        return found

    return stem
