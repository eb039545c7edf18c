"""Find what the forms of a word have in common: its stem, and its beginning.

The class of a word is its stem by Snowball, after irregular forms have led to the regular one. Many
languages change or join words more than stems follow. So in all languages but English, and those
whose words do not change, a word has a second class, its first letters. Neither depends on the
collection. Both are strings, and a beginning ends in a sign that no word has.
"""

import re
from collections.abc import Sequence
from typing import Final

from ranklet.runtime.text.irregular import bases
from ranklet.runtime.text.letters import detect_script, is_of_letters
from ranklet.runtime.text.names import MARK, STEM, UNSPACED
from ranklet.runtime.text.stems import SNOWBALL, stemmer

LETTERS: Final = 5  # of a beginning: the best of 4 to 7 on the train splits of five languages
_UNCHANGED = UNSPACED | {"en", "vi"}  # without inflections; their words need no beginnings
_SCRIPTS = {
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "kk", "ky", "mn"), "CYRILLIC"),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug"), "ARABIC"),
    **dict.fromkeys(("he", "yi"), "HEBREW"),
    **dict.fromkeys(("hi", "ne", "mr"), "DEVANAGARI"),
    "el": "GREEK", "ta": "TAMIL", "hy": "ARMENIAN", "ka": "GEORGIAN",
}  # fmt: skip
# Letters that are typed as two where a keyboard lacks them: ä as ae, å as aa. After another vowel
# or q they are two letters: neue, Bauer, Quelle.
_TWO = {
    "de": "(?<![aeiouyq])([aou])e",
    "sv": "(?<![aeiouyq])(?=[ao]e|aa)([ao])[ea]",
    **dict.fromkeys(("da", "nb", "nn"), "(?<![aeiouyq])(?=oe|aa)([ao])[ea]"),
}


class WordClasses:
    """What the words of a collection have in common with other forms of theirs.

    Args:
        languages: codes of its languages, most frequent first. A word has the stem of the first of
            them that is written in its script and changes it.
        normaliser: "stem"; or "none", by which words have neither stems nor beginnings.

    Attributes:
        begin: whether words have beginnings.
    """

    def __init__(self, languages: Sequence[str], normaliser: str) -> None:
        self.begin = normaliser == STEM and not _UNCHANGED.issuperset(languages)
        self._stems = normaliser == STEM
        self._languages: dict[str, list[str]] = {}  # of the words of a script
        for each in languages:
            self._languages.setdefault(_SCRIPTS.get(each, "LATIN"), []).append(each)

    def of(self, word: str) -> str:
        """Return the class of a word, which is in lower case unless it is an acronym.

        >>> classes = WordClasses(["en"], "stem")
        >>> [classes.of(word) for word in ("kneading", "mice", "o'reilly", "utf8", "WHO")]
        ['knead', 'mous', 'oreilli', 'utf8', 'WHO']
        """
        if word != word.lower():
            return word
        bare = word.replace("'", "") if self._stems else word
        if not is_of_letters(bare):
            return word
        languages = self._languages.get(detect_script(bare), [])
        bare = _without_pairs(bare, languages)
        for each in languages if self._stems else ():
            found = bases(each).get(bare, bare)
            found = stemmer(each)(found) if each in SNOWBALL else found
            if found != bare:
                return found
        return bare

    def beginning(self, word: str) -> str:
        """Return a word's other class.

        >>> WordClasses(["de"], "stem").beginning("dokumente")
        'dokum…'
        """
        bare = word.replace("'", "")
        return _without_pairs(bare, self._languages.get(detect_script(bare), []))[:LETTERS] + MARK


def _without_pairs(word: str, languages: Sequence[str]) -> str:
    """Return a word in which no umlaut is typed as two letters.

    >>> [_without_pairs(word, ["de"]) for word in ("mueller", "quelle", "neue", "bauer")]
    ['muller', 'quelle', 'neue', 'bauer']
    """
    pairs = _TWO.get(languages[0]) if languages else None
    return re.sub(pairs, r"\1", word) if pairs else word
