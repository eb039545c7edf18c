"""Spellings that the readers of a script take for equal.

`respelled` makes one spelling of them, which stop words have, too. `unaccented` removes what only
careful writers add, and a word that is a stop word without it keeps it. `affixes` finds what a
language puts before or behind a word.

Left as they are: traditional and simplified Chinese characters, hiragana and katakana, Cyrillic and
Latin letters of Serbian, and Burmese in the encoding of Zawgyi.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from unicodedata import category, name, normalize

# Marks that only some writers or keyboards add, such as a hamza above or below a letter. Marks
# that a script cannot do without are not among them.
ACCENTS = (
    "\u0300-\u036f\u0653-\u0655\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20dc\u20e1-\u20ff\ufe20-\ufe2f"
)
VOICED = "\u3099\u309a"  # they make が of か
ACCENT = f"[{ACCENTS}]"
# Letters by their names in Unicode, with and without what is added to them.
_LATIN = (
    "LATIN (?:CAPITAL |SMALL )?(?:LETTER|LIGATURE) (?:SMALL CAPITAL )?"
    "(?:DOTLESS |OPEN |BARRED |SCRIPT |INSULAR |LONG )?"
    "([A-Z]{1,2}|ETH|THORN|ENG|KRA|SCHWA|TURNED E|REVERSED E|EZH|ESH|GAMMA|IOTA|UPSILON|ALPHA|WYNN)"
    "(?: BAR| DIGRAPH| WITH .*)?"
)
_TYPED = {
    "ETH": "d", "THORN": "th", "ENG": "n", "KRA": "q", "SCHWA": "e", "TURNED E": "e",
    "REVERSED E": "e", "EZH": "z", "ESH": "s", "GAMMA": "g", "IOTA": "i", "UPSILON": "u",
    "ALPHA": "a", "WYNN": "w",
}  # fmt: skip
# Hebrew acronyms have their sign before the last letter (צה"ל), or further ahead with an ending. A
# quoted word may follow a prefix of one letter (ב"הארץ").
_ACRONYM = '(?<=[א-ת][א-ת])["“”](?=[א-ת])|(?<=[א-ת])["“”](?=[א-ת](?![א-ת]))'
_NASALS = ((0x19, 0x15, 0x18), (0x1E, 0x1A, 0x1D), (0x23, 0x1F, 0x22), (0x28, 0x24, 0x27),
           (0x2E, 0x2A, 0x2D))  # fmt: skip
_POLYTONIC = "[\u1f00-\u1fff]"
_MONOTONIC = {0x300: 0x301, 0x342: 0x301, 0x313: None, 0x314: None, 0x345: None}
# A vowel and a sign that look like one letter, by the last two digits of their codes in a block:
# the tables "do not use" of the Unicode Standard, chapters 12 and 13.
_LOOK_LIKE_ONE = {
    0x0900: "05+3e=06 05+46=04 09+41=0a 0f+45=0d 0f+46=0e 0f+47=10 05+49=11 06+45=11 05+4a=12 "
            "06+46=12 05+4b=13 06+47=13 05+4c=14 06+48=14 05+45=72",
    0x0980: "05+3e=06 0b+43=60",
    0x0A00: "05+3e=06 72+3f=07 72+40=08 73+41=09 73+42=0a 72+47=0f 05+48=10 73+4b=13 05+4c=14",
    0x0A80: "05+3e=06 05+45=0d 05+47=0f 05+48=10 05+49=11 06+45=11 05+4b=13 06+47=13 05+4c=14 "
            "06+48=14 45+3e=49",
    0x0B00: "05+3e=06 0f+57=10 13+57=14",
    0x0C00: "12+55=13 12+4c=14 3f+55=40 46+55=47 4a+55=4b",
    0x0C80: "09+3e=0a 12+4c=14 0b+3e=60",
    0x0D00: "07+57=08 09+57=0a 0e+46=10 12+3e=13 12+57=14 46+46=48",
    0x0D80: "05+4f=06 05+50=07 05+51=08 0b+5f=0c 0d+58=0e 0f+5f=10 11+4a=12 11+59=13 14+4a=15 "
            "14+5f=16 59+59=5b",
}  # fmt: skip
_CONCERNED = "[\u0565\u0900-\u0eff\u1780-\u17ff\u309d\u309e\u30fd\u30fe]"
# What a language puts before a word: Arabic the article, alone or after a particle. Words that
# begin like it lose that, too, because many writers leave the hamza of ألمانيا away.
_ARTICLE = "(?:ال(?=..)|(?:[وبكف]ال|وبال|لل)(?=...))(?!له$)(?:ال(?=..))*"
# What it puts behind a name and an apostrophe. Turkish and its kin, by sounds: plural, possessive,
# cases. A word with any other end is one (Kur'an).
_TURKIC = (
    "(?:l[aeə]r|[iıuü]m[iıuü]z|[iıuü]n[iıuü]z|[iıuü]m|s[iıuü]|[yn]?[aeəiıuü]|[iıuü]|n?[iıuü]n|"
    "n?[dt][aeə]n?|y?l[aeə]|c[aeə]|l[iıuü]k?|s[iıuü]z|[dt][iıuü]r|y[dm][iıuü]ş?|ki)+"
)
_SUFFIXES = {
    **dict.fromkeys(("tr", "az", "ku"), _TURKIC),
    "pl": "a|u|owi|em|ie|ego|emu|ach|ami|ów|om|y|i|e",
    "et": "[a-zõäöü]{1,5}",
    "fi": "[a-zäö]{1,5}",
    **dict.fromkeys(("da", "nb", "nn"), "s|en|et|er|ens|ets|ers|erne|ene"),
}


def _pairs(*written: str) -> Iterator[tuple[int, str]]:
    """Yield each letter's code with its spelling, of texts such as "ab=c", where c spells both."""
    for each in written:
        letters, _, spelling = each.rpartition("=")
        yield from ((ord(letter), spelling) for letter in letters)


def _ethiopic() -> Iterator[tuple[int, str]]:
    """Yield the letters of Amharic that sound alike: ሐ and ኀ as ሀ, ሠ as ሰ, ዐ as አ, ፀ as ጸ."""
    for begin, spelling in ((0x1210, 0x1200), (0x1280, 0x1200), (0x1220, 0x1230),
                            (0x12D0, 0x12A0), (0x1340, 0x1338)):  # fmt: skip
        for vowel in range(7):
            # The first and the fourth vowel sound alike after ሀ and አ.
            open_vowel = vowel == 3 and spelling in (0x1200, 0x12A0)
            yield begin + vowel, chr(spelling + (0 if open_vowel else vowel))
    yield from _pairs("ሃኻ=ሀ", "ኣ=አ")


# Letters that look or sound alike and are typed for each other. Keyboards decide between some.
LETTERS: dict[int, str] = dict(
    [
        # Arabic, Persian, Urdu, Pashto, Kurdish: kaf, yeh, heh, gaf, alef with its hamza; tatweel
        # and small letters of the Quran.
        *_pairs("کڪ=ك", "ی=ي", "ہە=ه", "ۃ=ة", "ګ=گ", "أإآٱ=ا", "ـۥۦ="),
        *_pairs("װ=וו", "ױ=וי", "ײ=יי", "״="),  # Hebrew and Yiddish
        *_pairs("՛՜՞="),  # Armenian stress, exclamation and question stand within the word
        *_pairs("ё=е", "ґ=г"),
        *_pairs("ş=ș", "ţ=ț"),
        *_pairs("\u093c\u0a3c=", "ऩ=न", "ऱ=र", "ऴ=ळ", "ँ=ं", "ੰ=ਂ"),  # nukta, chandrabindu, tippi
        *_pairs("ৎ=ত্"),
        *_pairs("ଵ=ୱ", "ஶ=ஸ"),
        *_pairs("ൺ=ണ്", "ൻ=ന്", "ർ=ര്", "ൽ=ല്", "ൾ=ള്", "ൿ=ക്", "ൌ=ൗ"),  # chillus
        *_pairs("ๅ=า"),
        *_pairs("ឣ=អ", "ឤ=អា", "ឲ=ឱ", "ឨ=ឧ"),
        *_pairs("ဉ=ဥ"),
        *_ethiopic(),
    ]
)


def marks(*blocks: range) -> str:
    """Return the combining marks of some blocks, as a part of a pattern."""
    return "".join(
        re.escape(chr(code))
        for block in blocks
        for code in block
        if category(chr(code)) in ("Mn", "Mc")
    )


class _Unaccented(dict[int, str]):
    """What each lower-case letter becomes without accents, found out when it first occurs."""

    def __missing__(self, code: int) -> str:
        found = self[code] = self._of(chr(code))
        return found

    def _of(self, letter: str) -> str:
        if re.match(ACCENT, letter):
            return ""
        if named := re.fullmatch(_LATIN, name(letter, "")):
            return _TYPED.get(named[1], named[1].lower())
        return LETTERS.get(ord(letter), letter)


_UNACCENTED = _Unaccented(_pairs("ى=ي", "ةۃ=ه"))  # what many Arabic writers make no difference of


def unaccented(word: str) -> str:
    """Return a word in lower case without accents.

    >>> unaccented("łódź"), unaccented("على") == unaccented("علي")
    ('lodz', True)
    """
    if word.isascii():
        return word
    return normalize("NFC", normalize("NFD", word).translate(_UNACCENTED))


def _anusvara(block: int, classes: int) -> tuple[str, str]:
    """Return the rule that a nasal before a consonant of its class is a dot (हिन्दी is हिंदी).

    Args:
        block: the first code of a script, all of which are laid out like Devanagari.
        classes: how many of the five classes of consonants are concerned.
    """

    def at(offset: int) -> str:
        return chr(block + offset)

    each = [f"{at(n)}{at(0x4D)}(?=[{at(a)}-{at(b)}])" for n, a, b in _NASALS[:classes]]
    return "|".join(each), at(0x02)


def _looking_like_one() -> tuple[str, Callable[[re.Match[str]], str]]:
    """Return the rule that a vowel and a sign are the letter that they look like."""
    letters = {}
    for block, rows in _LOOK_LIKE_ONE.items():
        for row in rows.split():
            *pair, one = (chr(block + int(each, 16)) for each in re.split("[+=]", row))
            letters["".join(pair)] = one
    return "|".join(letters), lambda found: letters[found[0]]


@cache
def _rules() -> list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]:
    """Return the replacements for sequences of lower-case letters."""
    rules: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
        # Devanagari, Gujarati, Telugu, Kannada; of Bengali and Odia the first class only.
        *(_anusvara(block, 5) for block in (0x900, 0xA80, 0xC00, 0xC80)),
        *(_anusvara(block, 1) for block in (0x980, 0xB00)),
        _looking_like_one(),
        ("\u0d4d+", "\u0d4d"),  # a chillu and the sign that kills its vowel, as in nta (ൻ്റ)
        # The Tamil vowel au, typed as e and la; another vowel or none of that la makes it a la.
        ("\u0b92\u0bb3(?![\u0bbe-\u0bcd])", "\u0b94"),
        ("\u0bc6\u0bb3(?![\u0bbe-\u0bcd])", "\u0bcc"),
        ("եվ", "եւ"),  # և in capitals, and in two orthographies
        # The vowels am and ae of Thai and Lao, typed as two; a tone may stand between.
        ("\u0e4d([\u0e48-\u0e4b]?)\u0e32", "\\1\u0e33"),
        ("\u0ecd([\u0ec8-\u0ecb]?)\u0eb2", "\\1\u0eb3"),
        ("\u0e40\u0e40", "\u0e41"),
        ("\u0ec0\u0ec0", "\u0ec1"),
        ("\u17d2\u178f", "\u17d2\u178a"),  # da and ta below a Khmer letter look alike
        ("([\u3041-\u3096\u30a1-\u30fa])([ゝゞヽヾ])", _repeated),
    ]
    return [(re.compile(pattern), spelling) for pattern, spelling in rules]


def respelled(word: str) -> str:
    """Return the spelling of a word in lower case whose letters are composed.

    >>> respelled("हिन्दी"), respelled("کتاب") == respelled("كتاب"), respelled("いすゞ")
    ('हिंदी', True, 'いすず')
    """
    if word.isascii():
        return word
    word = word.replace("i\u0307", "i").translate(LETTERS)  # as İ is in lower case
    if re.search(_POLYTONIC, word):  # ancient Greek has several accents
        word = normalize("NFC", normalize("NFD", word).translate(_MONOTONIC))
    if re.search(_CONCERNED, word):
        for pattern, spelling in _rules():
            word = pattern.sub(spelling, word)
    return word


def beginnings(prefix: str) -> frozenset[str]:
    """Return how words are spelled that begin with a prefix, whose last letter may be a half one.

    >>> sorted(beginnings("हिन्")), beginnings("bread")
    (['हिं', 'हिन्'], frozenset({'bread'}))
    """
    found = {prefix}
    for block in (0x900, 0xA80, 0xC00, 0xC80):
        nasals = "".join(chr(block + nasal) for nasal, *_ in _NASALS)
        found.add(re.sub(f"[{nasals}]{chr(block + 0x4D)}$", chr(block + 0x02), prefix))
    return frozenset(found)


def _repeated(found: re.Match[str]) -> str:
    letter, sign = found.groups()
    if sign in "ゝヽ":
        return letter + letter
    return letter + normalize("NFC", normalize("NFD", letter)[0] + "\u3099")


def join_acronyms(text: str) -> str:
    """Return a text without the quotes in Hebrew acronyms; no character changes its place.

    >>> join_acronyms('צה"ל') == "צה\u2060ל"
    True
    """
    return re.sub(_ACRONYM, "\u2060", text)


def affixes(languages: Iterable[str]) -> Callable[[str], tuple[int, int]]:
    """Return a function that finds a word between the affixes of its language.

    The function returns where the word begins and ends in a text in lower case.

    >>> find = affixes(["tr"])
    >>> [(each, each[slice(*find(each))]) for each in ("istanbul'da", "kur'an")]
    [("istanbul'da", 'istanbul'), ("kur'an", "kur'an")]
    """
    article = "ar" in languages
    behind = "|".join(_SUFFIXES[each] for each in languages if each in _SUFFIXES)
    suffix = re.compile(f"(?<=..)'(?=[^']{{1,12}}$)(?:{behind})$") if behind else None

    def place(word: str) -> tuple[int, int]:
        before = re.match(_ARTICLE, word) if article else None
        after = suffix.search(word) if suffix and "'" in word else None
        return before.end() if before else 0, after.start() if after else len(word)

    return place
