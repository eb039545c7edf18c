"""Stems of words by Snowball, by which words are compared and unknown words of queries found."""

from ranklet.runtime.text import scripts, words

# English names by ISO 639 codes, as simplemma and py3langid use them. In lower case they are
# those of Snowball.
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


def has_stemmer(language: str) -> bool:
    """Return whether the installed Snowball has stems of a language."""
    from snowballstemmer import algorithms

    return LANGUAGES.get(language, "").lower() in algorithms()


def stem(word: str, language: str) -> str:
    """Return the folded stem of a word of a language that has a stemmer.

    >>> stem("Kneading", "en"), stem("chevaux", "fr")
    ('knead', 'cheval')
    """
    from snowballstemmer import stemmer

    # A stemmer keeps the word that it works on, so threads must not share one.
    found = stemmer(LANGUAGES[language].lower()).stemWord(word.lower())
    return words.fold(found) if language == "en" else scripts.fold(found)
