"""Stems of words by Snowball.

Its Python modules are used, even where PyStemmer is installed, whose versions have other rules.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

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


# How words end that the rules of a language may change; all others, half of the words of a
# collection, are stems.
_ENDS = {
    "en": (
        "s", "ed", "ing", "y", "e", "i", "al", "ism", "ion", "er", "ator", "ogist", "ful", "ic",
        "ant", "ent", "ll", "'",
    ),
}  # fmt: skip


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the function that finds the stem of a word in lower case.

    >>> stemmer("en")("kneading"), stemmer("fr")("chevaux")
    ('knead', 'cheval')

    Args:
        language: a code of `SNOWBALL`.
    """
    name, ends = SNOWBALL[language], _ENDS.get(language, "")
    module = import_module(f"snowballstemmer.{name}_stemmer")
    quick = type("Quick", (_Quick, getattr(module, f"{name.capitalize()}Stemmer")), {})

    def stem(word: str) -> str:
        if not word.endswith(ends) and word[:1] != "'":
            return word
        # A stemmer keeps the word that it works on, so threads must not share one.
        found: str = quick().stemWord(word)
        return found

    return stem


class _Quick:
    """Finds affixes by their outer letter, in a third of the time of Snowball's bisection.

    Attributes:
        tables: the affixes of each list by their first or last letter, the longest first.
    """

    tables: ClassVar[dict[tuple[int, int], dict[str, list[tuple[str, int, Any]]]]] = {}
    current: str
    cursor: int
    limit: int
    limit_backward: int

    def find_among_b(self, affixes: Sequence[Any]) -> int:
        """Return the result of the longest suffix before the cursor, which is moved; 0 if none."""
        word, end, least = self.current, self.cursor, self.limit_backward
        table = self.tables.get((id(affixes), -1)) or self._table(affixes, -1)
        for suffix, length, found in table.get(word[end - 1 : end], table[""]):
            if word.endswith(suffix, least, end):
                self.cursor = end - length
                if found.method is None or found.method(self):
                    self.cursor = end - length
                    return int(found.result)
        return 0

    def find_among(self, affixes: Sequence[Any]) -> int:
        """Return the result of the longest prefix after the cursor, which is moved; 0 if none."""
        word, begin, most = self.current, self.cursor, self.limit
        table = self.tables.get((id(affixes), 0)) or self._table(affixes, 0)
        for prefix, length, found in table.get(word[begin : begin + 1], table[""]):
            if word.startswith(prefix, begin, most):
                self.cursor = begin + length
                if found.method is None or found.method(self):
                    self.cursor = begin + length
                    return int(found.result)
        return 0

    def _table(self, affixes: Sequence[Any], at: int) -> dict[str, list[tuple[str, int, Any]]]:
        longest = sorted(affixes, key=lambda each: -len(each.s))
        letters = {each.s[at] for each in affixes if each.s}
        table = {
            letter: [(e.s, len(e.s), e) for e in longest if not e.s or e.s[at] == letter]
            for letter in letters
        }
        table[""] = [(each.s, 0, each) for each in longest if not each.s]
        self.tables[id(affixes), at] = table  # a constant of its module, so its id stays
        return table
