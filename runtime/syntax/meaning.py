"""Find what a query with syntax means in a collection: documents, further words, corrections."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.sets import among, distinct
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.syntax import corrections
from ranklet.runtime.syntax.clauses import Clauses
from ranklet.runtime.syntax.exact_phrases import ExactPhrases, Excluded, Forms
from ranklet.runtime.syntax.query_syntax import Clause, Query
from ranklet.runtime.syntax.searched_texts import SearchedTexts
from ranklet.runtime.syntax.word_postings import Postings
from ranklet.runtime.text.analysis import STOPPED
from ranklet.runtime.text.compounds import only_word, parts
from ranklet.runtime.text.spellings import beginnings, unaccented
from ranklet.runtime.text.splitter import Splitter

Words = NDArray[np.int32]  # ids of words, (words,)

MOST_WORDS = 500  # that one prefix may stand for


class Meaning(NamedTuple):
    """What a query means in a collection."""

    text: str  # to rank by, with corrected words
    added: Words  # words that prefixes stand for
    allowed: Mask | None  # the documents that may be hits; None for all
    corrections: dict[str, str]  # words that replace unknown ones
    phrases: ExactPhrases | None  # finds out which allowed documents are hits; None if all are
    left_out: tuple[str, ...]  # what there was no time to look up


def meaning(
    query: Query,
    documents: Documents,
    visible: Mask | None = None,
    *,
    postings: Postings | None = None,
    deadline: Deadline | None = None,
    known: Callable[[str], bool] = lambda _: False,
    columns: Metadata | None = None,
) -> Meaning:
    """Return what a query means in a collection.

    The index says which documents may be hits. Their texts say whether they have its phrases, and
    words in the very form that is meant, which only the best of them are read for.

    Args:
        query: the query.
        documents: the collection.
        visible: the documents that the caller may learn of, (documents,) bool; None for all. A
            prefix stands for words of these only, because explanations name them.
        postings: an index of every word; None if the bundle has none.
        deadline: the call's deadline; None for none.
        known: says of further words that they need no correction.
        columns: the metadata, whose strings are read for phrases; None for none.

    Raises:
        InputError: an excluded word or a whole phrase consists of stop words, which no index has,
            or a prefix is several words or stands for more than `MOST_WORDS`.
    """
    texts = SearchedTexts(documents, postings.fields if postings else (), columns)
    collection = _Collection(texts, postings, deadline or Deadline())
    query, corrected = collection.corrected(query, known) if query.typos else (query, {})
    asked = _Asked.of(query, collection)
    found = collection.found(asked, visible)
    added = asked.prefixes if visible is None else [ids[found.seen[ids]] for ids in asked.prefixes]
    for prefix, ids in zip(query.prefixes, added, strict=True):
        if len(ids) > MOST_WORDS:
            raise InputError(
                f"{prefix[:40]}* stands for more than {MOST_WORDS} words; type more letters"
            )
    words, restricts, left_out = distinct(_join(added)), query.restricts, tuple[str, ...]()
    allowed, exact = (found.allowed, found.exact) if restricts else (None, None)
    if allowed is not None and (query.required or query.forbidden):
        looking = deadline or Deadline()
        clauses = Clauses(texts, postings, collection.beginning_with, looking)
        allowed = allowed & clauses.allowed(query.required, query.forbidden)
        left_out = tuple(clauses.left_out)
    return Meaning(query.text, words, allowed, corrected, exact, left_out)


def with_corrections(query: Query, replaced: Mapping[str, str], splitter: Splitter) -> Query:
    """Return a query in which some words are replaced, and no others will be."""

    def new(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(corrections.corrected(text, replaced, splitter) for text in texts)

    def clause(each: Clause) -> Clause:
        return each if each.kind == "prefixes" else each._replace(text=new([each.text])[0])

    return replace(
        query,
        text=new([query.text])[0],
        phrases=new(query.phrases),
        excluded=new(query.excluded),
        excluded_phrases=new(query.excluded_phrases),
        required=tuple(tuple(map(clause, group)) for group in query.required),
        forbidden=tuple(map(clause, query.forbidden)),
        typos=False,
    )


class _Phrase(NamedTuple):
    """A phrase of a query."""

    text: str
    ids: tuple[int, ...]  # of its words without stop words and compounds; −1 is an unknown word
    single: bool  # whether it is a single word, so that its id says all

    @property
    def known(self) -> bool:
        """Whether the collection knows all of its words."""
        return min(self.ids) >= 0


class _Asked(NamedTuple):
    """What a query asks of a collection."""

    phrases: list[_Phrase]
    prefixes: list[Words]
    excluded: Words  # words in all forms
    excluded_phrases: list[_Phrase]  # those whose words are known
    excluded_prefixes: Words

    @classmethod
    def of(cls, query: Query, collection: "_Collection") -> "_Asked":
        runs = [
            each
            for each in (*query.excluded, *query.excluded_prefixes)
            if collection.is_divided(each)
        ]
        excluded_phrases = [collection.phrase(each) for each in (*query.excluded_phrases, *runs)]
        return cls(
            [collection.phrase(each) for each in query.phrases],
            [collection.beginning_with(each) for each in query.prefixes],
            _join(collection.list_forms(each) for each in query.excluded if each not in runs),
            [each for each in excluded_phrases if each.known],
            _join(
                collection.beginning_with(each)
                for each in query.excluded_prefixes
                if each not in runs
            ),
        )


class _Found(NamedTuple):
    """What a query asks for and a collection has."""

    allowed: Mask  # the documents that may be hits
    exact: ExactPhrases | None  # finds out which of these are; None if all are
    seen: NDArray[np.bool_]  # which words of prefixes visible documents have, (vocabulary,)


class _Collection:
    """The words of a collection."""

    def __init__(self, texts: SearchedTexts, postings: Postings | None, deadline: Deadline) -> None:
        self._texts, self._documents = texts, texts.documents
        self._vocabulary = texts.documents.vocabulary
        self._postings, self._deadline = postings, deadline

    def is_divided(self, word: str) -> bool:
        """Return whether a text without spaces is several words, so that it counts as a phrase."""
        split = self._vocabulary.splitter
        return split.is_unspaced(word) and only_word(split.placed(word)) is None

    def list_forms(self, word: str) -> Words:
        """Return all forms of an excluded word; an unknown word has none."""
        lemma_of = self._vocabulary.lemma_of
        whole = only_word(self._vocabulary.splitter.placed(word))
        if whole is None and self._vocabulary.splitter.words(word):
            raise InputError(
                f'-{word:.40} is several words; write -"{word:.40}" to exclude a phrase'
            )
        known = -1 if whole is None else self._vocabulary.find(whole)
        if whole is None or (known >= 0 and lemma_of[known] == STOPPED):
            raise InputError(f"-{word:.40} is a stop word, which no index has; leave it out")
        return self._vocabulary.list_forms(whole)

    def beginning_with(self, prefix: str) -> Words:
        """Return the words that begin with a prefix, without stop words."""
        split = self._vocabulary.splitter
        whole = only_word(split.placed(prefix))
        if whole is None and split.is_unspaced(prefix):  # its other words are in the query's text
            whole = split.words(prefix)[-1]
        if whole is None:
            raise InputError(f"{prefix[:40]}* is not the beginning of one word")
        # Capitals and accents tell some words from stop words; others have none.
        every = beginnings(whole) | {unaccented(whole.lower())}
        ranges = [np.arange(*self._vocabulary.forms.range_of(each)) for each in sorted(every)]
        ids = distinct(np.concatenate([*ranges, self._vocabulary.find_stop_words(whole)]))
        words: Words = ids[self._vocabulary.lemma_of[ids] >= 0].astype(np.int32)
        return words

    def phrase(self, text: str) -> _Phrase:
        """Return a phrase with the ids of its words."""
        lemma_of, split = self._vocabulary.lemma_of, self._vocabulary.phrase_splitter
        words = [word for *_, word in parts(split.placed(text), names=True)]
        ids = {word: self._vocabulary.find(word) for word in words}
        words = [each for each in words if ids[each] < 0 or lemma_of[ids[each]] != STOPPED]
        # Words that only capitals or accents tell from stop words may be these in a text.
        alike = self._vocabulary.splitter.is_like_stopped
        certain = [each for each in words if not alike(each)]
        kept = tuple(ids[each] for each in certain or words)
        if not kept:
            raise InputError(
                f'the phrase "{text:.60}" has only stop words, which no index has; add a word'
            )
        placed = [*split.placed(text)]
        single = len(placed) == 1 and not any(split.affixes(text[placed[0][0] : placed[0][1]]))
        return _Phrase(text, kept, single)

    def found(self, query: _Asked, visible: Mask | None) -> _Found:
        """Look up what is asked for in the index."""
        hits = self._having_all(query.phrases)
        hits = hits if visible is None else hits & visible
        out, excluded = self._find_excluded(query)
        known = (each for each in query.phrases if each.single and each.known)
        single = np.array([each.ids[0] for each in known], np.int32)
        required = single[~self._is_alone(single)]
        phrases = [
            Excluded(each.text, self._having_all([each]))
            for each in query.excluded_phrases
            if not each.single
        ]
        texts, exact = [each.text for each in query.phrases if not each.single], None
        if texts or phrases or len(required) or len(excluded):
            forms = Forms(required, excluded, self._having(excluded))
            exact = ExactPhrases(self._texts, texts, phrases, self._deadline, forms)
        return _Found(hits & ~self._documents.extend_whole(out), exact, self._seen(query, visible))

    def _seen(self, query: _Asked, visible: Mask | None) -> NDArray[np.bool_]:
        """Return which words of prefixes are in visible documents, all forms of a word as one."""
        seen, words = self._flags(), distinct(_join(query.prefixes))
        if visible is None or not len(words):
            return seen
        if self._postings is None:
            seen[self._documents.words(np.flatnonzero(visible)).tokens] = True
            return seen
        terms = words if self._postings.term_of is None else self._postings.term_of[words]
        having = self._postings.having(words)
        shown = [
            term for term, own in zip(distinct(terms), having, strict=True) if visible[own].any()
        ]
        seen[words[among(terms, np.array(shown, terms.dtype))]] = True
        return seen

    def corrected(self, query: Query, known: Callable[[str], bool]) -> tuple[Query, dict[str, str]]:
        """Return a query whose unknown words are replaced, and the replacements by these words."""
        vocabulary, split = self._vocabulary, self._vocabulary.splitter
        prefixes = frozenset(split.words(" ".join(query.prefixes)))
        forbidden = (each.text for each in query.forbidden if each.kind != "prefixes")
        texts = (query.text, *query.phrases, *query.excluded, *query.excluded_phrases, *forbidden)

        def knows(word: str) -> bool:
            own = vocabulary.knows(word) or vocabulary.ending_with(word)
            return word in prefixes or bool(own) or known(word)

        unknown = corrections.unknown_words(texts, split, knows)
        found = corrections.alternatives(unknown, vocabulary, self._deadline)
        replaced = {word: self._most_frequent(ids) for word, ids in found.items()}
        return with_corrections(query, replaced, split), replaced

    def _most_frequent(self, words: Sequence[int]) -> str:
        """Return the most frequent of some words, of equally frequent ones the first."""
        ids = np.array(words)
        return self._vocabulary.forms[int(ids[np.argmax(self._vocabulary.frequency(ids))])]

    def _find_excluded(self, asked: _Asked) -> tuple[Mask, Words]:
        """Return which documents are excluded, and the words that exclude further documents."""
        single = [each.ids[0] for each in asked.excluded_phrases if each.single]
        words = distinct(_join([asked.excluded_prefixes, single]))
        if self._postings is None:
            none = np.zeros(len(self._documents), np.bool_)
            return none, _join([asked.excluded, words])
        alone = self._is_alone(words)
        return self._having(_join([asked.excluded, words[alone]])), words[~alone]

    def _is_alone(self, words: Words) -> NDArray[np.bool_]:
        """Return whether the index tells each word from all that are not among the others."""
        if self._postings is None:
            return np.zeros(len(words), np.bool_)
        if self._postings.term_of is None or not len(words):
            return np.ones(len(words), np.bool_)
        term_of, size = self._postings.term_of, len(self._vocabulary)
        terms = term_of[words]
        forms, own = (np.bincount(each, minlength=size) for each in (term_of[term_of >= 0], terms))
        return np.asarray((forms == own)[terms])

    def _having(self, words: Words) -> Mask:
        """Return which documents may have one of some words; all if no index says so."""
        mask = np.full(len(self._documents), self._postings is None and len(words) > 0)
        for documents in self._postings.having(words) if self._postings else ():
            mask[documents] = True
        return mask

    def _having_all(self, phrases: Sequence[_Phrase]) -> Mask:
        """Return which documents may have all of some phrases."""
        if not all(each.known for each in phrases):
            return np.zeros(len(self._documents), np.bool_)
        if self._postings is None or not phrases:
            return np.ones(len(self._documents), np.bool_)
        words = distinct(np.array([word for each in phrases for word in each.ids]))
        rarest, *others = sorted(self._postings.having(words), key=len)
        for each in others:
            rarest = rarest[np.isin(rarest, each, assume_unique=True)]
        mask = np.zeros(len(self._documents), np.bool_)
        mask[rarest] = True
        return mask

    def _flags(self, *words: Sequence[int] | Words) -> NDArray[np.bool_]:
        """Return whether each word is one of some, (vocabulary,) bool."""
        flags = np.zeros(len(self._vocabulary), np.bool_)
        flags[_join(words)] = True
        return flags


def _join(words: Iterable[Sequence[int] | Words]) -> Words:
    return np.concatenate([np.empty(0, np.int32), *words]).astype(np.int32)
