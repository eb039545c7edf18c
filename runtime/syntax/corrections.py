"""Find the words that a person may have meant by unknown ones, which differ in a letter or two."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.runtime.text.letters import detect_script, is_of_letters
from ranklet.runtime.text.splitter import Splitter

SHORTEST, LONGEST = 4, 40  # letters of a word that is corrected
LONG = 8  # letters of a word that may differ in two
_COMPARED = 32  # words; so few with the same beginning are compared one by one
# Letters that may be missing or wrong, by the first letter's script.
_ALPHABETS = {
    "LATIN": "abcdefghijklmnopqrstuvwxyz",
    "GREEK": "αβγδεζηθικλμνξοπρστυφχψω",
    "CYRILLIC": "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґ",
    "HEBREW": "אבגדהוזחטיכלמנסעפצקרשתךםןףץ",
    "ARABIC": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىپچژگکی",
}


def unknown_words(
    texts: Iterable[str], splitter: Splitter, knows: Callable[[str], bool]
) -> list[str]:
    """Return the words of some texts that could be corrected, each once.

    Args:
        texts: the texts of a query.
        splitter: divides them into words.
        knows: says which words are left as they are.
    """
    every = dict.fromkeys(
        word
        for text in texts
        for begin, end, word in splitter.placed(text)
        if _is_alone(text, begin, end)
    )
    return [
        word
        for word in every
        if SHORTEST <= len(word) <= LONGEST and is_of_letters(word) and not knows(word)
    ]


def alternatives(
    words: Iterable[str], vocabulary: Vocabulary, deadline: Deadline
) -> dict[str, list[int]]:
    """Return the ids of the words that are near, ascending, of words that have any; see `near`.

    When the time is up, no further word is looked up.
    """
    found = dict[str, list[int]]()
    for at, word in enumerate(words):
        if at and deadline.passed:
            break
        if ids := near(word, vocabulary, 1) or near(word, vocabulary, 2):
            found[word] = ids
    return found


def near(word: str, vocabulary: Vocabulary, edits: int) -> list[int]:
    """Return the ids of the words that differ in so many letters from one, ascending.

    Two letters are too many for a word of fewer than `LONG`.
    """
    if edits == 1:
        found: Iterable[int] = one_edit(word, vocabulary.forms)
    else:
        found = two_edits(word, vocabulary.forms) if len(word) >= LONG else ()
    return sorted(each for each in found if vocabulary.lemma_of[each] >= 0)


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
    alphabet = _ALPHABETS.get(detect_script(word), "")
    found, begin, end = set[int](), 0, len(forms)
    for at in range(len(word) + 1):
        begin, end = forms.range_of(word[:at], begin, end)
        if end - begin <= _COMPARED:
            near = (each for each in range(begin, end) if _differ(word, forms[each], alphabet))
            return found.union(near) - {-1}
        for variant in _variants(word[:at], word[at:], alphabet):
            found.add(forms.find_between(variant, begin, end))
    return found - {-1}


def two_edits(word: str, forms: SortedStrings) -> list[int]:
    """Return the ids of the words with the same first letter that differ in two letters or fewer.

    >>> forms = SortedStrings.pack(["kneaded", "kneading", "nkeading", "needing"])
    >>> [forms[each] for each in two_edits("kneeeding", forms)]
    ['kneading']
    """
    begin, end = forms.range_of(word[:1])
    sizes, most = forms.sizes(begin, end), 2 if word.isascii() else 8  # bytes
    ids = begin + np.flatnonzero(np.abs(sizes - len(word.encode())) <= most)
    texts = [forms[each] for each in ids.tolist()]
    differ = _edits(word, texts) if texts else np.empty(0, np.int8)
    return [at for at in ids[differ <= 2].tolist() if is_of_letters(forms[at])]


def _edits(word: str, texts: Sequence[str]) -> NDArray[np.int8]:
    """Return in how many letters a word differs from others, (texts,) int8; 3 stands for more.

    Letters are missing, added, replaced, or swapped with their neighbour (optimal string
    alignment). Only what lies near the diagonal of the table is computed, for all texts at once.
    """
    lengths, rows = np.array([*map(len, texts)]), len(word)
    letters = np.array(texts).view(np.uint32).reshape(len(texts), -1).T
    letters = np.ascontiguousarray(letters[: rows + 2])
    asked, far = np.array([word]).view(np.uint32), np.full(len(texts), 3, np.int8)
    table = [{at: np.full(len(texts), at, np.int8) for at in range(3)}]
    for row in range(1, rows + 1):
        before, here = table[-1], dict[int, NDArray[np.int8]]()
        for at in range(max(0, row - 2), min(len(letters), row + 2) + 1):
            if at == 0:
                here[0] = np.full(len(texts), min(row, 3), np.int8)
                continue
            same = letters[at - 1] == asked[row - 1]
            least = before.get(at - 1, far) + ~same
            least = np.minimum(least, np.minimum(before.get(at, far), here.get(at - 1, far)) + 1)
            if row > 1 and at > 1:
                swapped = (letters[at - 1] == asked[row - 2]) & (letters[at - 2] == asked[row - 1])
                both = np.where(swapped, table[-2].get(at - 2, far) + 1, far)
                least = np.minimum(least, both)
            here[at] = np.minimum(least, 3).astype(np.int8)
        table.append(here)
    ends = np.vstack([table[-1].get(at, far) for at in range(lengths.max() + 1)])
    found: NDArray[np.int8] = ends[lengths, np.arange(len(texts))]
    return found


def ranges_near(prefix: str, strings: SortedStrings) -> list[tuple[int, int]]:
    """Return ranges of the strings that begin with what differs in one letter from a prefix.

    They may overlap.

    >>> strings = SortedStrings.pack(["bread", "bred", "broad", "dough"])
    >>> ranges_near("bera", strings)
    [(0, 1)]
    """
    alphabet = _ALPHABETS.get(detect_script(prefix), "")
    found, begin, end = list[tuple[int, int]](), 0, len(strings)
    for at in range(len(prefix)):
        begin, end = strings.range_of(prefix[:at], begin, end)
        if end - begin <= _COMPARED:
            few = (each for each in range(begin, end) if _begins(prefix, strings[each], alphabet))
            return [*found, *((each, each + 1) for each in few)]
        every = {
            strings.range_of(v, begin, end) for v in _variants(prefix[:at], prefix[at:], alphabet)
        }
        found += sorted(each for each in every if each[0] < each[1])
    return found


def _begins(prefix: str, other: str, alphabet: str) -> bool:
    """Return whether a string begins with what differs in one letter from a prefix, or in none."""
    lengths = range(len(prefix) - 1, len(prefix) + 2)
    return other.startswith(prefix) or any(
        _differ(prefix, other[:length], alphabet) for length in lengths
    )


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
