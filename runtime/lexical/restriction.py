"""Find what a query with syntax means in a collection: documents, further words, corrections."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.arguments import check_query
from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.query_syntax import Query
from ranklet.runtime.pipeline.mask import Mask
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.storage.documents import Documents
from ranklet.runtime.text.analysis import STOPPED

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

MOST_WORDS = 500  # that one prefix may stand for
SHORTEST = 4  # letters of a word that is corrected
# Letters that may be missing or wrong, by the first letter's script.
_ALPHABETS = {
    "LATIN": "abcdefghijklmnopqrstuvwxyz",
    "GREEK": "αβγδεζηθικλμνξοπρστυφχψω",
    "CYRILLIC": "абвгдежзиклмнопрстуфхцчшщъыьэюяіїєґ",
    "HEBREW": "אבגדהוזחטיכלמנסעפצקרשתךםןףץ",
    "ARABIC": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىپچژگکی",
}


class Meaning(NamedTuple):
    """What a query means in a collection."""

    text: str  # to rank by, with corrected words
    added: NDArray[np.int32]  # ids of words that prefixes stand for, (words,)
    allowed: Mask | None  # the documents that may be hits; None for all
    corrections: dict[str, str]  # words that replace unknown ones


def meaning(query: Query, documents: Documents, visible: Mask | None = None) -> Meaning:
    """Return what a query means in a collection.

    Every phrase and every excluded word reads the word ids of the whole collection once.

    Args:
        query: the query.
        documents: the collection.
        visible: the documents that the caller may learn of, (documents,) bool; None for all. A
            prefix stands for words of these only, because explanations name them.

    Raises:
        InputError: an excluded word or a whole phrase consists of stop words, which no index has,
            or a prefix is several words or stands for more than `MOST_WORDS`.
    """
    found = _Collection(documents, visible)
    text, corrections = found.corrected(query.text) if query.typos else (query.text, {})
    added = [found.beginning_with(prefix) for prefix in query.prefixes]
    allowed = np.ones(len(documents), np.bool_) if query.restricts else None
    if allowed is not None:
        for phrase in query.phrases:
            allowed &= found.with_phrase(phrase)
        excluded = [found.with_forms(found.forms_of(word)) for word in query.excluded]
        excluded += [found.with_phrase(phrase) for phrase in query.excluded_phrases]
        excluded += [found.with_forms(found.beginning_with(p)) for p in query.excluded_prefixes]
        for mask in excluded:
            allowed &= ~found.in_whole_documents(mask)
    ids = np.unique(np.concatenate([np.empty(0, np.int32), *added])).astype(np.int32)
    return Meaning(text, ids, allowed, corrections)


def read_query(
    query: str | Query,
    bundle: "BundleFiles",
    *,
    own: bool = False,
    visible: Callable[[None], Mask | None] = lambda _: None,
) -> QueryContext:
    """Return a query that is ready to rank by.

    Args:
        query: a text, or a query with syntax.
        bundle: the bundle that is searched.
        own: whether the caller's own documents are ranked.
        visible: returns, without a further filter, the documents that the caller may learn of,
            (documents,) bool; None for all. It is called only for a query with syntax.

    Raises:
        InputError: as `meaning`; or the text is empty or no string, or a query with syntax comes
            with the caller's own documents, or corrects typos where documents are hidden.
    """
    analysis = bundle.analyzer.begin()
    if not isinstance(query, Query):
        check_query(query)
        return QueryContext(query, analysis)
    if own:
        raise InputError(
            "phrases, excluded words, prefixes and typos are looked up in the collection; pass the "
            "query as a text to rank documents of your own"
        )
    seen = visible(None)
    if seen is not None and query.typos:
        raise InputError(
            "a correction would reveal words of documents that are not shown here; leave typos out"
        )
    with bundle.damage_reported():
        found = meaning(query, bundle.need_documents(), seen)
    return QueryContext(found.text, analysis, found.added, found.allowed, found.corrections)


class _Collection:
    """The words of a collection."""

    def __init__(self, documents: Documents, visible: Mask | None) -> None:
        self._documents, self._vocabulary = documents, documents.vocabulary
        self._forward, self._visible = documents.forward("words"), visible

    def forms_of(self, word: str) -> NDArray[np.int32]:
        """Return the ids of all forms of an excluded word, none if it is unknown."""
        parts = self._vocabulary.splitter.words(word)
        if len(parts) > 1:  # without spaces between words, or joined by hyphens
            raise InputError(
                f'-{word:.40} is several words; write -"{word:.40}" to exclude a phrase'
            )
        ids = [each for each in self._ids(word) if each is not None]
        if not ids:
            raise InputError(f"-{word:.40} is a stop word, which no index has; leave it out")
        lemma_of = self._vocabulary.lemma_of
        known = [lemma_of[each] for each in ids if each >= 0]
        return np.flatnonzero(np.isin(lemma_of, known)).astype(np.int32)

    def beginning_with(self, prefix: str) -> NDArray[np.int32]:
        """Return the ids of the words that begin with a prefix, without stop words."""
        words = self._vocabulary.splitter.words(prefix)
        if len(words) != 1:
            raise InputError(f"{prefix[:40]}* is not the beginning of one word")
        begin, end = self._vocabulary.forms.range_of(words[0])
        every = np.arange(begin, end, dtype=np.int32)
        ids: NDArray[np.int32] = every[self._vocabulary.lemma_of[every] != STOPPED]
        if self._visible is not None:
            lengths = np.diff(self._forward.offsets)
            ids = np.intersect1d(ids, self._forward.tokens[np.repeat(self._visible, lengths)])
        if len(ids) > MOST_WORDS:
            raise InputError(
                f"{prefix[:40]}* stands for more than {MOST_WORDS} words; type more letters"
            )
        return ids

    def with_forms(self, forms: NDArray[np.int32]) -> Mask:
        """Return which documents have one of some forms, (documents,) bool."""
        wanted = np.zeros(len(self._vocabulary), np.bool_)
        wanted[forms] = True
        mask = np.zeros(len(self._documents), np.bool_)
        if len(forms):
            mask[self._owners(np.flatnonzero(wanted[self._forward.tokens]))] = True
        return mask

    def with_phrase(self, phrase: str) -> Mask:
        """Return which documents have the words of a phrase next to each other, (documents,) bool.

        The word ids have no stop words. So documents whose other words are next to each other are
        read again if the phrase has stop words or the document may have some in between.
        """
        mask = np.zeros(len(self._documents), np.bool_)
        ids = [each for each in self._ids(phrase) if each is not None]
        if not ids:
            raise InputError(
                f'the phrase "{phrase:.60}" has only stop words, which no index has; add a word'
            )
        if min(ids) < 0:  # a word that no document has
            return mask
        tokens = self._forward.tokens
        at = np.flatnonzero(tokens[: max(0, len(tokens) - len(ids) + 1)] == ids[0])
        for place, word in enumerate(ids[1:], 1):
            at = at[tokens[at + place] == word]
        owners = self._owners(at)
        owners = np.unique(owners[self._owners(at + len(ids) - 1) == owners])
        wanted = self._vocabulary.splitter.words(phrase)
        if len(wanted) > 1:
            owners = owners[[self._reads(owner, wanted) for owner in owners.tolist()]]
        mask[owners] = True
        return mask

    def in_whole_documents(self, mask: Mask) -> Mask:
        """Return a mask that has all passages of a document if it has one of them."""
        first = self._documents.first
        if first is None:
            return mask
        whole = np.zeros(len(mask), np.bool_)
        whole[first[mask]] = True
        return whole[first]

    def corrected(self, text: str) -> tuple[str, dict[str, str]]:
        """Return a text whose unknown words are replaced, and the replacements by these words."""
        forms, corrections = self._vocabulary.forms, dict[str, str]()
        corrected, end = "", 0
        for begin, after, word in self._vocabulary.splitter.placed(text):
            if len(word) < SHORTEST or not word.isalpha() or begin < end or forms.find(word) >= 0:
                continue
            if better := self._closest(word):
                corrections[word] = better
                corrected, end = corrected + text[end:begin] + better, after
        return corrected + text[end:], corrections

    def _closest(self, word: str) -> str:
        """Return the most frequent word that differs in one letter, "" if there is none."""
        forms, lemma_of = self._vocabulary.forms, self._vocabulary.lemma_of
        found = {forms.find(variant) for variant in one_edit(word)} - {-1}
        ids = [each for each in sorted(found) if lemma_of[each] != STOPPED]
        if not ids:
            return ""
        tokens = self._forward.tokens
        counts = [int(np.count_nonzero(tokens == each)) for each in ids]
        return forms[ids[int(np.argmax(counts))]]

    def _ids(self, text: str) -> list[int | None]:
        """Return the id of each word, -1 if it is unknown, None if it is a stop word."""
        forms, lemma_of = self._vocabulary.forms, self._vocabulary.lemma_of
        ids = [forms.find(word) for word in self._vocabulary.splitter.words(text)]
        return [None if each >= 0 and lemma_of[each] == STOPPED else each for each in ids]

    def _owners(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the document of each token, by its place among all tokens."""
        return np.searchsorted(self._forward.offsets, places, side="right") - 1

    def _reads(self, number: int, wanted: Sequence[str]) -> bool:
        (text,) = self._documents.ranked_texts([number])
        words = self._vocabulary.splitter.words(text)
        starts = (at for at, word in enumerate(words) if word == wanted[0])
        return any(words[at : at + len(wanted)] == list(wanted) for at in starts)


def one_edit(word: str) -> Iterator[str]:
    """Yield the words that differ in one letter: missing, added, replaced or swapped.

    >>> sorted(set(one_edit("ab")) & {"b", "ba", "aab", "abz", "zb", "ab"})
    ['aab', 'abz', 'b', 'ba', 'zb']
    """
    script = unicodedata.name(word[0], "").partition(" ")[0]
    alphabet = _ALPHABETS.get(script, "")
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1 and tail[0] != tail[1]:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in alphabet:
            yield head + letter + tail
            if tail and tail[0] != letter:
                yield head + letter + tail[1:]
