"""Tell words of letters from numbers, names with signs and emoji, in all scripts."""

from unicodedata import category, name


def is_of_letters(word: str) -> bool:
    """Return whether a word has a letter and nothing but letters and their marks.

    `str.isalpha` is False for most words of Hindi, Tamil or Burmese, whose vowels are marks.

    >>> [is_of_letters(word) for word in ("bread", "हिंदी", "utf8", "c++", "o'neill")]
    [True, True, False, False, False]
    """
    if word.isascii():
        return word.isalpha()
    every = (each.isalpha() or category(each)[0] == "M" for each in word)
    return any(map(str.isalpha, word)) and all(every)


def detect_script(word: str) -> str:
    """Return the script of a word's first letter by its name in Unicode, "" for a sign.

    >>> detect_script("bread"), detect_script("хлеб"), detect_script("πίτα")
    ('LATIN', 'CYRILLIC', 'GREEK')
    """
    return "LATIN" if word[:1].isascii() else name(word[:1], "").partition(" ")[0]
