"""Turn text into token ids in the three fields of Boytsov & Kolter (§4.1).

``words`` and ``lemmas`` share one vocabulary of strings. A word's id is that of its form. Its lemma
is the class of its forms, by default their stem, whose id is that of the stem's string.
``lemma_of`` maps the first to the second, and ``beginning_of`` to the word's other class, its first
letters, where words have one. Words that no document has are classed in the same way, so a query
may use any inflection. ``wordpieces`` are BERT's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.ground.sets import among
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.frequencies import decode_counts
from ranklet.runtime.text.letters import is_of_letters
from ranklet.runtime.text.names import CLASSES, COMPOUNDING, ENGLISH, UNSPACED
from ranklet.runtime.text.spellings import unaccented
from ranklet.runtime.text.splitter import LOOK, Splitter
from ranklet.runtime.text.words import SPLITTER

if TYPE_CHECKING:
    from ranklet.runtime.text.classes import WordClasses
    from ranklet.runtime.text.known_words import KnownWords
    from ranklet.runtime.text.lexicon import Lexicon
    from ranklet.runtime.text.tokenizing import Tokenizer

NONE, NO_CODES = np.empty(0, np.int32), np.empty(0, np.uint8)
STOPPED = -1  # in `lemma_of`: a word that both words and lemmas leave out
_FEW = 100  # tokens, which are looked up faster than the distinct ones among them are found
NO_WORD = -2  # in `lemma_of`: a string that is a class and no word

# Of a word that ends compounds: its letters, and at most how many compounds stand for it; what one
# counts that ends with the whole word, or only with its stem.
SHORTEST_END, MOST_ENDS, WHOLE_END, STEM_END = 4, 200, 0.6, 0.3

Asked = tuple[int, int, str, int]  # begin and end in the query, the word, and its id or `STOPPED`


def splitter(
    languages: Sequence[str],
    stopped: AbstractSet[str] = frozenset(),
    known: "KnownWords | None" = None,
) -> Splitter:
    """Return how texts of some languages are split; a collection in English has its own rules.

    Args:
        languages: their codes.
        stopped: their stop words, as they are written; those of English are known.
        known: the words of the collection that divide others.

    >>> splitter(["en"]).words("l'été"), splitter(["fr"]).words("l'été")
    (["l'ete"], ['ete'])
    """
    if tuple(languages) == ENGLISH:
        return SPLITTER
    from ranklet.runtime.text import scripts  # not a cost of opening an English bundle

    return scripts.splitter(tuple(languages), frozenset(stopped), known)


def _balanced(words: Iterable[Asked]) -> Iterator[Asked]:
    """Yield words that are no pairs of letters twice, because most other letters are in two pairs.

    >>> [word for _, _, word, _ in _balanced([(0, 2, "東京", 4), (2, 8, "ubuntu", 3)])]
    ['東京', 'ubuntu', 'ubuntu']
    """
    from ranklet.runtime.text.scripts import is_unspaced  # not a cost of opening an English bundle

    for each in words:
        yield from [each] if is_unspaced(each[2]) else [each, each]


class Vocabulary:
    """The words of a collection and the classes of each word.

    Args:
        forms: the words and the classes of words, in the order of their bytes.
        lemma_of: the id of each word's lemma, (forms,) int32; `STOPPED` for words that no index
            has, which are English stop words and Japanese particles; `NO_WORD` for a mere class.
        languages: codes of the collection's languages, which say how texts are split into words.
        counts: how many texts have each form, where that divides other words, (forms,) uint32;
            None if none is divided.
        stopped: the ids of stop words that are indexed, ascending; queries leave them out.
        beginning_of: the id of each word's beginning, (forms,) int32, `lemma_of` where that is
            negative; None if words have none.
        classes: makes what finds the classes of other words; None if only these words have any.

    Attributes:
        by_pairs: whether most texts have no spaces between words and are split into pairs.
    """

    def __init__(
        self,
        forms: SortedStrings,
        lemma_of: NDArray[np.int32],
        languages: Sequence[str] = ENGLISH,
        counts: NDArray[np.uint32] | None = None,
        stopped: NDArray[np.int32] = NONE,
        beginning_of: NDArray[np.int32] | None = None,
        classes: "Callable[[], WordClasses] | None" = None,
        frequencies: NDArray[np.uint8] = NO_CODES,
    ) -> None:
        self._frequencies = frequencies
        self.forms, self.lemma_of, self.counts, self.stopped = forms, lemma_of, counts, stopped
        self.beginning_of, self._make_classes = beginning_of, classes
        self._begin_with = lru_cache(maxsize=1 << 12)(forms.range_of)
        self._place = lru_cache(maxsize=1 << 12)(forms.find)
        self._forms_in = lru_cache(maxsize=1 << 12)(self._with_class)
        self._others_in = lru_cache(maxsize=1 << 6)(self._with_other_classes)
        self.classes_of = lru_cache(maxsize=1 << 12)(self._classes_of)
        self._ending_with = lru_cache(maxsize=1 << 8)(self._list_ends)
        self.has_capitals = not {"de", "lb"}.isdisjoint(languages)  # at the beginning of nouns
        self.joins = not COMPOUNDING.isdisjoint(languages)
        english = tuple(languages) == ENGLISH
        ids = [] if english else [*np.flatnonzero(lemma_of == STOPPED).tolist(), *stopped.tolist()]
        words, known = frozenset(map(forms.__getitem__, ids)), None
        if counts is not None:
            from ranklet.runtime.text.known_words import KnownWords  # few languages divide words

            count = lru_cache(maxsize=1 << 14)(self._count)  # texts repeat beginnings of words
            known = KnownWords(count, lambda: int(counts.sum()), pairs="zh" in languages)
        self.splitter = splitter(languages, words, known)
        # A phrase in Chinese has the same pairs of letters wherever it stands, but not words.
        pairs = known is not None and known.pairs
        self.by_pairs = (known is None or pairs) and languages[0] in UNSPACED
        self.phrase_splitter = splitter(languages, words) if pairs else self.splitter

    def find(self, word: str) -> int:
        """Return the id of a word, −1 if no text has it.

        A word that only accents tell from a stop word is this, if there is no such word.
        """
        found = self.forms.find(word)
        if found >= 0 and self.lemma_of[found] != NO_WORD:
            return found
        return self._accented.get(word, -1)

    @cached_property
    def _accented(self) -> dict[str, int]:
        """The ids of the indexed stop words by their spellings without accents."""
        return {unaccented(self.forms[each]): each for each in self.stopped.tolist()}

    def find_stop_words(self, beginning: str) -> NDArray[np.int32]:
        """Return the ids of the indexed stop words that begin so without their accents."""
        found = [each for word, each in self._accented.items() if word.startswith(beginning)]
        return np.array(found, np.int32)

    @cached_property
    def shown(self) -> NDArray[np.int32]:
        """The shortest word of each lemma, which people read in its place, (forms,) int32."""
        words, found = np.flatnonzero(self.lemma_of >= 0), np.arange(len(self), dtype=np.int32)
        lemmas = self.lemma_of[words]
        order = np.lexsort((words, self.forms.sizes()[words], lemmas))
        first = order[np.flatnonzero(np.diff(lemmas[order], prepend=-1))]
        found[lemmas[first]] = words[first]
        return found

    @cached_property
    def _classes(self) -> "WordClasses | None":
        return None if self._make_classes is None else self._make_classes()

    def lemma(self, word: str) -> str:
        """Return the lemma of a word that the vocabulary does not have."""
        return word if self._classes is None else self._classes.of(word)

    def beginning(self, word: str) -> str:
        """Return the beginning of a word that the vocabulary does not have."""
        return "" if self._classes is None else self._classes.beginning(word)

    def ending_with(self, word: str) -> dict[str, float]:
        """Return words that end with a word that no text has, or with its stem, and a weight each.

        They are the most frequent ones of their classes. A language has none that joins no words.
        """
        if not self.joins or len(word) < SHORTEST_END or not is_of_letters(word):
            return {}
        return self._ending_with(word)

    def _list_ends(self, word: str) -> dict[str, float]:
        found = dict[int, float]()
        for suffix, weight in ((word, WHOLE_END), (self.lemma(word), STEM_END)):
            every = self.forms.ending_with(suffix) if len(suffix) >= SHORTEST_END else NONE
            # A word before it has two letters or more.
            every = every[self.forms.sizes()[every] > len(suffix.encode()) + 1]
            classes = every[self.lemma_of[every] == NO_WORD]
            for each in (*every[self.lemma_of[every] >= 0], *self.shown[classes]):
                found.setdefault(int(each), weight)
        ids = np.array([*found], np.intp)
        order = np.argsort(-self.frequency(ids), kind="stable")[:MOST_ENDS]
        return {self.forms[at]: found[at] for at in ids[order].tolist()}

    def list_forms(self, word: str) -> NDArray[np.int32]:
        """Return the ids of all words that have the lemma of a word, (words,) int32."""
        known = self.find(word)
        lemma = self.lemma_of[known] if known >= 0 else self.forms.find(self.lemma(word))
        every = self.lemma_of == lemma if lemma >= 0 else []
        return np.flatnonzero(every).astype(np.int32)

    def knows(self, word: str) -> bool:
        """Return whether some text has a word, or another form of it."""
        return self.find(word) >= 0 or len(self.list_forms(word)) > 0

    def frequency(self, words: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return how often the texts have each of some words, about, (words,) float64."""
        return decode_counts(self._frequencies[words])

    def _classes_of(self, word: str) -> tuple[str, ...]:
        """Return the classes of any word, the lemma first; none of a stop word that no index has.

        Queries and texts share most words, so `classes_of` keeps those of the last ones.
        """
        known, with_beginning = self.find(word), self.beginning_of is not None
        if known < 0:
            return (self.lemma(word), self.beginning(word))[: 1 + with_beginning]
        if self.lemma_of[known] == STOPPED:
            return ()
        every = (self.lemma_of, self.beginning_of)
        return tuple(self.forms[each[known]] for each in every if each is not None)

    def forms_in(self, names: Iterable[str], letters: Iterable[str]) -> set[str]:
        """Return the words of some classes that begin with one of some letters."""
        found, ranges = set[str](), [self._begin_with(letter) for letter in letters]
        for number in map(self._place, names):
            for begin, end in ranges if number >= 0 else ():
                if begin <= number < end:
                    found.update(self._forms_in(number, begin, end))
                elif others := self._others_in(begin, end).get(number):
                    found.update(self.forms[each] for each in others)
        return found

    def _with_class(self, number: int, begin: int, end: int) -> list[str]:
        """Return the words of a class in a range of ids."""
        found = self.lemma_of[begin:end] == number
        if self.beginning_of is not None:
            found |= self.beginning_of[begin:end] == number
        return [self.forms[begin + at] for at in np.flatnonzero(found).tolist()]

    def _with_other_classes(self, begin: int, end: int) -> dict[int, set[int]]:
        """Return the few words in a range of ids whose class is none of the range, by class."""
        found: dict[int, set[int]] = {}
        for every in (self.lemma_of, self.beginning_of):
            classes = NONE if every is None else every[begin:end]
            others = (classes >= 0) & ((classes < begin) | (classes >= end))
            for at in np.flatnonzero(others).tolist():
                found.setdefault(int(classes[at]), set()).add(begin + at)
        return found

    def _count(self, word: str) -> int | None:
        place = self.forms.first_with(word)
        if place < 0 or self.counts is None:
            return None
        return int(self.counts[place]) if self.forms[place] == word else 0

    def __len__(self) -> int:
        return len(self.forms)


class Analyzer:
    """The text analysis of one bundle; immutable and shared by all threads.

    Args:
        vocabulary: the word forms, or a function that opens them on first use.
        tokenizer: a function that loads the word-piece tokenizer on first use.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | Callable[[], Vocabulary],
        tokenizer: Callable[[], "Tokenizer"] | None = None,
    ) -> None:
        self._open = vocabulary if callable(vocabulary) else lambda: vocabulary
        self._vocabulary: Vocabulary | None = None
        self._load_tokenizer = tokenizer
        self._tokenizer: Tokenizer | None = None
        self._pieces = 0

    @classmethod
    def of_pieces(cls, tokenizer: "Tokenizer") -> "Analyzer":
        """Return an analyzer for a ranker's own word pieces, without words and lemmas."""
        return cls(_no_words, lambda: tokenizer)

    @property
    def vocabulary(self) -> Vocabulary:
        """The word forms, opened on first use because dense rankers never need them."""
        if self._vocabulary is None:
            self._vocabulary = self._open()
        return self._vocabulary

    @property
    def tokenizer(self) -> "Tokenizer":
        """The word-piece tokenizer, loaded on first use."""
        if self._tokenizer is None:
            if self._load_tokenizer is None:
                raise BundleError(
                    "this bundle has no word-piece tokenizer. Index the collection again with a "
                    "ranker over the field 'wordpieces'"
                )
            self._tokenizer = self._load_tokenizer()
        return self._tokenizer

    def size(self, field: str) -> int:
        """Return the number of token ids in a field's vocabulary."""
        if field == "wordpieces":
            if not self._pieces:  # some versions of tokenizers take 3 ms to count them
                self._pieces = self.tokenizer.get_vocab_size()
            return self._pieces
        return len(self.vocabulary)

    def wordpieces(
        self, texts: Sequence[str], look: Callable[[], None] = lambda: None
    ) -> list[NDArray[np.int32]]:
        """Return the ids of the word pieces of each text, (pieces,) int32, on all processors.

        Args:
            texts: any texts.
            look: see `Analysis`.

        Raises:
            BundleError: the tokenizer is damaged.
        """
        from ranklet.runtime.text.tokenizing import encode_batch, list_parts

        size = self.size("wordpieces")
        parts = [list(list_parts(text)) or [text] for text in texts]
        if max(map(len, parts), default=1) == 1:
            found = [each.ids for each in encode_batch(self.tokenizer, texts)]
        else:
            found = [list(self._long(each, look)) for each in parts]
        if (largest := max(map(max, filter(None, found)), default=0)) >= size:
            raise BundleError(
                f"the tokenizer returned id {largest}, but it has only {size} word pieces"
            )
        return [np.array(ids, np.int32) for ids in found]

    def _long(self, parts: Sequence[str], look: Callable[[], None]) -> Iterator[int]:
        from ranklet.runtime.text.tokenizing import encode

        for part in parts:
            look()
            yield from encode(self.tokenizer, part).ids

    def place_wordpieces(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield each word piece of a text with its character positions: (begin, end, piece)."""
        from ranklet.runtime.text.tokenizing import encode

        encoding = encode(self.tokenizer, text)
        for (begin, end), piece in zip(encoding.offsets, encoding.tokens, strict=True):
            yield begin, end, piece

    def begin(self, look: Callable[[], None] = lambda: None) -> "Analysis":
        """Start analysing the texts of one call; see `Analysis` for `look`."""
        return Analysis(self, look)


def _no_words() -> Vocabulary:
    raise BundleError("a ranker's own tokenizer has word pieces only, neither words nor lemmas")


class Analysis:
    """The analysis of the texts of one call, which share the ids of unknown words.

    Unknown words are numbered past the vocabulary in order of appearance. So the caller's own
    documents can match a query on words that the collection does not contain.

    Args:
        analyzer: the bundle's.
        look: is called again and again while a long text is read; it raises an error if the
            call's time is up.
    """

    def __init__(self, analyzer: Analyzer, look: Callable[[], None] = lambda: None) -> None:
        self._analyzer, self.look = analyzer, look
        self._unknown: dict[str, int] = {}
        self._spellings: list[str] = []  # of the unknown words, in the order of their ids
        self._query: tuple[str, list[Asked]] = ("", [])  # the last query and its words

    def tokenize_texts(self, texts: Sequence[str], field: str) -> list[NDArray[np.int32]]:
        """Return the token ids of each text; see `tokens`."""
        if field == "wordpieces":
            return self._analyzer.wordpieces(texts, self.look)
        return [self.tokens(text, field) for text in texts]

    def tokens(self, text: str, field: str, length: int | None = None) -> NDArray[np.int32]:
        """Return the token ids of a text in a field, without stop words, (tokens,) int32.

        Of words, there may be only those of so many of its first characters.
        """
        if field == "wordpieces":
            return self._analyzer.wordpieces([text], self.look)[0]
        words = self._analyzer.vocabulary.splitter.words(text, length, self.look)
        return self.in_field(self._word_ids(words), field)

    def asked(self, text: str, field: str) -> NDArray[np.int32]:
        """Return the token ids of a query, (tokens,) int32.

        They are those of a text, but a name in camel case that the collection has stands for its
        parts, too, because four tokens of one name would outweigh the other words of the query.
        Stop words that are indexed are left out if another word of the collection remains. In
        classes, a word with spaces around it counts twice among pairs of letters.
        """
        if field == "wordpieces":
            return self.tokens(text, field)
        vocabulary, kept = self._analyzer.vocabulary, list[Asked]()
        for each in self._words_of(text):
            begin, end, word, number = each
            spans = bool(kept) and begin <= kept[-1][0] < end
            if spans and word.isalnum() and word.isascii() and number < len(vocabulary):
                kept = [part for part in kept if part[0] < begin]
            kept.append(each)
        by_pairs = vocabulary.by_pairs and field == CLASSES
        ids = _indexed(_balanced(kept) if by_pairs else kept)
        left = ids[~among(ids, vocabulary.stopped)] if len(vocabulary.stopped) else ids
        return self.in_field(left if left is ids or self._is_known(left) else ids, field)

    def read_query_words(self, query: str) -> list[tuple[str, str, str]]:
        """Return the words of a query without stop words: as typed, as compared, its lemma."""
        ids = self.asked(query, "words")
        words, lemmas = self.spelled(ids), self.spelled(self.in_field(ids, "lemmas"))
        typed = {word: query[begin:end] for begin, end, word, _ in self._words_of(query)}
        return [(typed.get(w, w), w, lemma) for w, lemma in zip(words, lemmas, strict=True)]

    def word(self, word: str, field: str) -> NDArray[np.int32]:
        """Return the tokens of one word, as texts are split into them, in a field of words."""
        return self.in_field(self._word_ids([word]), field)

    def _words_of(self, query: str) -> list[Asked]:
        """Return the words of a query with their places and ids; several fields ask for them."""
        text, words = self._query
        if text != query:
            placed = list(self._analyzer.vocabulary.splitter.placed(query))
            ids = self._ids([word for _, _, word in placed])
            words = [(*each, number) for each, number in zip(placed, ids, strict=True)]
            self._query = query, words
        return words

    def _is_known(self, ids: NDArray[np.int32]) -> bool:
        """Return whether the collection has some form of any of some words."""
        return bool((self.in_field(ids, CLASSES) < len(self._analyzer.vocabulary)).any())

    def has_unknown_word(self, query: str) -> bool:
        """Return whether the vocabulary does not have some word of a query."""
        return any(each[3] >= len(self._analyzer.vocabulary) for each in self._words_of(query))

    def has_unknown(self, tokens: NDArray[np.int32]) -> bool:
        """Return whether one of some words, or of their classes, is none of the vocabulary's."""
        return bool(self._unknown) and bool((tokens >= len(self._analyzer.vocabulary)).any())

    def in_field(self, ids: NDArray[np.int32], field: str) -> NDArray[np.int32]:
        """Return the tokens of words in the field words, lemmas or classes, (tokens,) int32."""
        if field == "words" or not len(ids):
            return ids
        vocabulary = self._analyzer.vocabulary
        lemmas = self._classes(ids, vocabulary.lemma_of, vocabulary.lemma)
        if field == "lemmas" or vocabulary.beginning_of is None:
            return lemmas
        both = np.empty((len(ids), 2), np.int32)
        both[:, 0] = lemmas
        both[:, 1] = self._classes(ids, vocabulary.beginning_of, vocabulary.beginning)
        return both.ravel()

    def _classes(
        self, ids: NDArray[np.int32], of_known: NDArray[np.int32], of_others: Callable[[str], str]
    ) -> NDArray[np.int32]:
        """Return a class of each word, (words,) int32."""
        size = len(of_known)
        found = of_known.take(ids, mode="clip")
        for at in np.flatnonzero(ids >= size).tolist() if self._unknown else ():
            found[at] = self._id_of(of_others(self._spellings[ids[at] - size]))
        return found

    def _id_of(self, string: str) -> int:
        """Return the id of a string, which is numbered if the vocabulary does not have it."""
        known = self._analyzer.vocabulary.forms.find(string)
        return known if known >= 0 else self._number(string)

    def _number(self, string: str) -> int:
        if string not in self._unknown:
            self._unknown[string] = len(self._analyzer.vocabulary) + len(self._unknown)
            self._spellings.append(string)
        return self._unknown[string]

    def _word_ids(self, spellings: Iterable[str]) -> NDArray[np.int32]:
        ids = [each for each in self._ids(spellings) if each != STOPPED]
        return np.array(ids, np.int32)

    def _ids(self, spellings: Iterable[str]) -> Iterator[int]:
        """Yield the id of each word, `STOPPED` for a stop word that no index has."""
        find, unknown = self._analyzer.vocabulary.find, self._unknown
        lemma_of = self._analyzer.vocabulary.lemma_of
        for at, word in enumerate(spellings, 1):
            index = unknown.get(word)
            if index is None:
                if not at % LOOK:
                    self.look()
                index = find(word)
                if index < 0:
                    index = self._number(word)
                elif lemma_of[index] == STOPPED:
                    index = STOPPED
            yield index

    @property
    def lexicon(self) -> "Lexicon":
        """The rules that join word pieces into words."""
        from ranklet.runtime.text.lexicon import Lexicon  # saves a millisecond of a cold start

        return Lexicon(self._analyzer.tokenizer)

    def placed(self, text: str, field: str) -> Iterator[tuple[int, int, str]]:
        """Yield each token of a text with its character positions: (begin, end, spelling).

        Stop words are left out in the fields that leave them out. Lemmas include beginnings.
        """
        if field == "wordpieces":
            yield from self._analyzer.place_wordpieces(text)
            return
        spelled = cache(lambda word: self._names(word, field))
        places = self._analyzer.vocabulary.splitter.placed(text)
        for at, (begin, end, word) in enumerate(places, 1):
            if not at % LOOK:
                self.look()
            for name in spelled(word):
                yield begin, end, name

    def place_classes(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the classes of a text's words with their characters: (begin, end, class)."""
        vocabulary = self._analyzer.vocabulary
        for at, (begin, end, word) in enumerate(vocabulary.splitter.placed(text), 1):
            if not at % LOOK:
                self.look()
            for name in vocabulary.classes_of(word):
                yield begin, end, name

    def stopped(self, text: str, *, alike: bool = False) -> Iterator[str]:
        """Yield the stop words of a text, which words and lemmas leave out, as they are written.

        Args:
            text: any text.
            alike: whether words that only capitals or accents tell from stop words are yielded,
                too, whether the collection knows them or not, because it may be hidden.
        """
        vocabulary, words = self._analyzer.vocabulary, self._words_of(text)
        left_out: AbstractSet[int] = frozenset()
        if len(vocabulary.stopped):
            ids = _indexed(words)
            asked = among(ids, vocabulary.stopped)
            if self._is_known(ids[~asked]):
                left_out = frozenset(ids[asked].tolist())
        for begin, end, word, number in words:
            stopped = number == STOPPED or number in left_out
            if stopped or (alike and vocabulary.splitter.is_like_stopped(word)):
                yield text[begin:end]

    def _names(self, word: str, field: str) -> list[str]:
        """Return the spellings of a word's tokens in a field; [] for a stop word."""
        every = CLASSES if field == "lemmas" else field
        return [self.name(token, field) for token in self.in_field(self._word_ids([word]), every)]

    def spelled(self, tokens: NDArray[np.integer]) -> list[str]:
        """Return the strings of words or their classes."""
        return [Analysis.name(self, token, "words") for token in tokens.tolist()]

    def list_numbers(self, strings: Sequence[str]) -> NDArray[np.int32]:
        """Return the ids of words or their classes, as `spelled` gives them."""
        return np.array([self._id_of(each) for each in strings], np.int32)

    def name(self, token: int, field: str) -> str:
        """Return the spelling of a token id, for explanations; a word for a lemma."""
        if field == "wordpieces":
            return self._analyzer.tokenizer.id_to_token(token) or f"#{token}"
        if token < len(self._analyzer.vocabulary):
            vocabulary = self._analyzer.vocabulary
            return vocabulary.forms[vocabulary.shown[token] if field == "lemmas" else token]
        place = token - len(self._analyzer.vocabulary)
        return self._spellings[place] if place < len(self._spellings) else f"#{token}"


class SegmentAnalysis(Analysis):
    """The analysis of a call in one part of a collection, whose words have numbers of its own.

    Args:
        analyzer: the part's.
        whole: the analysis of the call, which has split the texts and says how words are shown.
    """

    def __init__(self, analyzer: Analyzer, whole: Analysis) -> None:
        super().__init__(analyzer, whole.look)
        self._whole = whole

    def renumbered(self, tokens: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return tokens of the whole, of words or their classes, as this part numbers them."""
        return _renumbered(tokens, self._whole, self)

    def in_whole(self, tokens: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return tokens of this part, of words or their classes, as the whole numbers them."""
        return _renumbered(tokens, self, self._whole)

    def name(self, token: int, field: str) -> str:
        """Return the spelling of a token id, for explanations; a word for a lemma."""
        if field == "wordpieces":
            return super().name(token, field)
        spelled = super().name(token, "words")
        return self._whole.name(int(self._whole.list_numbers([spelled])[0]), field)


def _indexed(words: Iterable[Asked]) -> NDArray[np.int32]:
    """Return the ids of the words of a query that some index may have, (words,) int32."""
    return np.array([number for *_, number in words if number != STOPPED], np.int32)


def _renumbered(
    tokens: NDArray[np.integer], origin: Analysis, target: Analysis
) -> NDArray[np.int32]:
    if len(tokens) < _FEW:
        return target.list_numbers(origin.spelled(tokens))
    distinct, places = np.unique(tokens, return_inverse=True)
    return target.list_numbers(origin.spelled(distinct))[places]
