"""Porter's stemmer, which finds the common stem of ride, rides and riding.

Source: M. F. Porter 1980, "An algorithm for suffix stripping", as published, without the changes
that its author or others made later. It is implemented here so that serving needs no package.
"""

import re

_VOWELS = frozenset("aeiou")

# The rules of steps 2 to 4. The first suffix that fits is the only one that a step tries, even if
# the measure of the base forbids the replacement. Longer suffixes stand before their own endings.
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of a lower-case word.

    >>> [stem(word) for word in ("rides", "riding", "hypertrophies", "relational", "sky")]
    ['ride', 'ride', 'hypertrophi', 'relat', 'sky']
    """
    word = _plural(word)
    word = _past_or_progressive(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _without_suffix(word)
    return _tidied(word)


def _shape(word: str) -> str:
    """Return one letter per letter of the word, c for a consonant and v for a vowel.

    The letter y is a vowel after a consonant.
    """
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return m of [C](VC)^m[V], the number of times that a consonant follows a vowel."""
    return len(re.findall("vc", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """Return whether the word ends in consonant, vowel, consonant other than w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _plural(word: str) -> str:
    """Apply step 1a."""
    for suffix, other in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)] + other
    return word


def _past_or_progressive(word: str) -> str:
    """Apply step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word[: len(word) - len(suffix)]
            return _with_e(base) if _has_vowel(base) else word
    return word


def _with_e(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_double_consonant(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_cvc(base) else base


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply step 2 or 3."""
    for suffix, other in rules:
        if word.endswith(suffix):
            base = word[: len(word) - len(suffix)]
            return base + other if _measure(base) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    """Apply step 4."""
    for suffix in _STEP_4:
        if word.endswith(suffix):
            base = word[: len(word) - len(suffix)]
            allowed = suffix != "ion" or base.endswith(("s", "t"))
            return base if allowed and _measure(base) > 1 else word
    return word


def _tidied(word: str) -> str:
    """Apply step 5, which removes a final e and one l of a final ll."""
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _ends_cvc(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
