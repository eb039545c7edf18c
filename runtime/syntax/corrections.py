"""Find the words that a person may have meant by unknown ones, which differ in one letter."""

from collections.abc import Iterable, Iterator, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.runtime.text.letters import is_of_letters, script_of
from ranklet.runtime.text.splitter import Splitter

SHORTEST, LONGEST = 4, 40  # letters of a word that is corrected
_COMPARED = 32  # words; so few with the same beginning are compared one by one
# Letters that may be missing or wrong, by the first letter's script.
_ALPHABETS = {
    "LATIN": "abcdefghijklmnopqrstuvwxyz",
    "GREEK": "αβγδεζηθικλμνξοπρστυφχψω",
    "CYRILLIC": "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґ",
    "HEBREW": "אבגדהוזחטיכלמנסעפצקרשתךםןףץ",
    "ARABIC": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىپچژگکی",
}


def unknown_words(texts: Iterable[str], vocabulary: Vocabulary, known: Set[str]) -> list[str]:
    """Return the words of some texts that could be corrected, each once.

    Args:
        texts: the texts of a query.
        vocabulary: the collection's vocabulary.
        known: further words that are left as they are.
    """
    every = dict.fromkeys(
        word
        for text in texts
        for begin, end, word in vocabulary.splitter.placed(text)
        if _is_alone(text, begin, end)
    )
    return [
        word
        for word in every
        if SHORTEST <= len(word) <= LONGEST
        and is_of_letters(word)
        and word not in known
        and not len(vocabulary.forms_of(word))
    ]


def alternatives(
    words: Iterable[str], vocabulary: Vocabulary, deadline: Deadline
) -> dict[str, list[int]]:
    """Return the ids of the words that differ in one letter, ascending, of words that have any.

    When the time is up, no further word is looked up.
    """
    found = dict[str, list[int]]()
    for at, word in enumerate(words):
        if at and deadline.passed:
            break
        every = sorted(one_edit(word, vocabulary.forms))
        if ids := [each for each in every if vocabulary.lemma_of[each] >= 0]:
            found[word] = ids
    return found


def most_frequent(
    found: Mapping[str, list[int]], counts: NDArray[np.int64], forms: SortedStrings
) -> dict[str, str]:
    """Return the most frequent alternative of each word.

    Args:
        found: the alternatives; see `alternatives`.
        counts: how often each word occurs, (vocabulary,).
        forms: the vocabulary.
    """
    return {word: forms[ids[int(np.argmax(counts[ids]))]] for word, ids in found.items()}


def corrected(text: str, corrections: Mapping[str, str], splitter: Splitter) -> str:
    """Return a text in which some words are replaced."""
    new, done = "", 0
    for begin, end, word in splitter.placed(text):
        if word in corrections and begin >= done and _is_alone(text, begin, end):
            new, done = new + text[done:begin] + corrections[word], end
    return new + text[done:]


def _is_alone(text: str, begin: int, end: int) -> bool:
    """Return whether a place is outside of camel-case names, whose words a change would alter."""
    around = text[max(0, begin - 1) : begin], text[end : end + 1]
    return not any(each.isupper() or each.islower() or each.isdigit() for each in around)


def one_edit(word: str, forms: SortedStrings) -> set[int]:
    """Return the ids of the words that differ in one letter: missing, added, replaced or swapped.

    Words that begin alike are neighbours. So a letter is tried only while some word begins as the
    letters before it, and few words are compared one by one.

    >>> forms = SortedStrings.pack(["ab", "bread", "bred", "brood"])
    >>> sorted(one_edit("braed", forms)), sorted(one_edit("brod", forms))
    ([1, 2], [2, 3])
    """
    alphabet = _ALPHABETS.get(script_of(word), "")
    found, begin, end = set[int](), 0, len(forms)
    for at in range(len(word) + 1):
        begin, end = forms.range_of(word[:at], begin, end)
        if end - begin <= _COMPARED:
            near = (each for each in range(begin, end) if _differ(word, forms[each], alphabet))
            return found.union(near) - {-1}
        for variant in _variants(word[:at], word[at:], alphabet):
            found.add(forms.find_between(variant, begin, end))
    return found - {-1}


def _variants(head: str, tail: str, alphabet: str) -> Iterator[str]:
    """Yield what becomes of a word by one change right after its head."""
    if tail:
        yield head + tail[1:]
    if len(tail) > 1 and tail[0] != tail[1]:
        yield head + tail[1] + tail[0] + tail[2:]
    for letter in alphabet:
        yield head + letter + tail
        if tail and tail[0] != letter:
            yield head + letter + tail[1:]


def _differ(word: str, other: str, alphabet: str) -> bool:
    """Return whether two words differ in one letter, which the alphabet has if it is in `other`.

    >>> [_differ("bread", each, "abcdxyz") for each in ("bred", "braed", "breadx", "bead", "bre")]
    [True, True, True, True, False]
    """
    if abs(len(word) - len(other)) > 1 or word == other:
        return False
    begin = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    if begin is None:  # one is the beginning of the other
        begin = min(len(word), len(other))
    mine, theirs = word[begin:], other[begin:]
    if mine[1:] == theirs:
        return True
    if theirs[:1] and theirs[0] in alphabet and theirs[1:] in (mine, mine[1:]):
        return True
    return len(mine) > 1 and theirs == mine[1] + mine[0] + mine[2:]
