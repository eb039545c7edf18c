"""The languages that a collection may have, by code and by English name."""

from difflib import get_close_matches

from ranklet.runtime.errors import InputError

AUTO = "auto"  # found out for each document; or the best that is installed
# What the forms of a word may have in common.
LEMMA, STEM, NONE = "lemma", "stem", "none"
NORMALISERS = (LEMMA, f"{LEMMA}+{STEM}", STEM, NONE)

# ISO 639 codes, as simplemma and py3langid use them.
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
# Other codes of the same languages.
ALIASES = {
    "no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs", "sh": "hbs", "fil": "tl", "iw": "he",
    "wuu": "zh", "yue": "zh", "ary": "ar", "arz": "ar",
}  # fmt: skip


def has_lemmas(normaliser: str) -> bool:
    """Return whether forms are found by a dictionary of lemmas."""
    return normaliser.startswith(LEMMA)


def language_code(given: object) -> str:
    """Return the code of a language that is given by its code or its English name.

    Raises:
        InputError: it is unknown; the message lists those that are spelled alike.

    >>> language_code("German"), language_code("pt-BR"), language_code("no"), language_code("auto")
    ('de', 'pt', 'nb', 'auto')
    """
    if not isinstance(given, str):
        raise InputError(f"language is {given!r}; it must be a code such as 'de', or 'auto'")
    wanted = given.strip().casefold()
    by_name = {name.casefold(): code for code, name in LANGUAGES.items()}
    code = by_name.get(wanted) or wanted.partition("-")[0].partition("_")[0]
    code = ALIASES.get(code, code)
    if code in LANGUAGES or code == AUTO:
        return code
    alike = [by_name[name] for name in get_close_matches(wanted, by_name, 3)]
    alike += [each for each in get_close_matches(wanted, LANGUAGES, 3, 0.5) if each not in alike]
    shown = [f"{code} ({LANGUAGES[code]})" for code in alike or ["de", "en", "es", "fr", "zh"]]
    raise InputError(
        f"unknown language {given!r}; {'did you mean' if alike else 'known are, for example,'} "
        f"{', '.join(shown)}? 'auto' finds out the language of each document"
    )
