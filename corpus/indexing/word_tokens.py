"""Collect the words of many texts as numbers in a file, without keeping any text."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.packer import NumberPacker, packed, release, spans
from ranklet.corpus.indexing.vocabulary import places
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.splitter import LONGEST, Splitter
from ranklet.runtime.text.words import SPLITTER

_TOKENS = 1 << 20  # tokens that are renumbered at a time
_CACHED = 1 << 19  # words of chunks that are cached before the cache is emptied


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first looked up."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Chunks(dict[str, int]):
    """Numbers the chunks between two spaces, whose words are looked up once.

    Args:
        splitter: finds the words of a chunk.
        numbers: numbers the words.
    """

    def __init__(self, splitter: Splitter, numbers: _Numbers) -> None:
        self._splitter, self._numbers = splitter, numbers
        self.words, self.ends = array("i"), array("q", [0])  # of all chunks, one after the other

    def __missing__(self, chunk: str) -> int:
        self.words.extend(map(self._numbers.__getitem__, self._splitter.of_chunk(chunk)))
        self.ends.append(len(self.words))
        number = len(self.ends) - 2
        if len(chunk) <= LONGEST:
            self[chunk] = number
        return number


class Words(NamedTuple):
    """The words of some texts, without stop words, as a `WordReader` numbers them."""

    new: Sequence[str]  # words that it had not read before, in the order of their numbers
    tokens: NDArray[np.int32]  # of all texts, (tokens,)
    lengths: NDArray[np.int64]  # number of tokens of each text, (texts,)


class WordReader:
    """Finds the words of texts and numbers them, after the stop words, as they first occur.

    Args:
        stopped: words that are stop words in every text.
        splitter: finds the words of a text.
    """

    def __init__(self, stopped: Iterable[str], splitter: Splitter = SPLITTER) -> None:
        self._splitter = splitter
        self._numbers = _Numbers()
        for word in stopped:
            self._numbers[word]
        self._stopped = len(self._numbers)  # smaller numbers are stop words
        self._told = 0  # words that were returned
        self._chunks = _Chunks(splitter, self._numbers)

    def read(self, texts: Iterable[str]) -> Words:
        """Return the words of the next texts; the first words of all are the stop words."""
        found, lengths = list[int](), list[int]()
        for text in texts:
            chunks = self._splitter.chunks(text)
            found += map(self._chunks.__getitem__, chunks)
            lengths.append(len(chunks))
        chunks_of = np.array(found, np.int32)
        words = np.frombuffer(self._chunks.words, np.int32)
        ends = np.frombuffer(self._chunks.ends, np.int64)
        counts = ends[chunks_of + 1] - ends[chunks_of]
        before = np.cumsum(counts) - counts
        places = np.repeat(ends[chunks_of] - before, counts) + np.arange(counts.sum())
        owners = np.arange(len(lengths)).repeat(lengths).repeat(counts)
        kept = words[places] >= self._stopped
        new = list(islice(self._numbers, self._told, None))
        self._told = len(self._numbers)
        if len(ends) + len(words) > _CACHED:
            self._chunks = _Chunks(self._splitter, self._numbers)
        of_texts = np.bincount(owners[kept], minlength=len(lengths))
        return Words(new, words[places[kept]], of_texts)


class WordTokens:
    """The words of texts, without stop words, of one or more readers with the same stop words."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._tables: dict[object, NDArray[np.int32]] = {}  # the number of each reader's words
        self._tokens, self._ends = NumberPacker(np.int32), array("q", [0])

    def add(self, words: Words, reader: object = None) -> None:
        """Add the words of the next texts, and say which reader has numbered them."""
        table = self._tables.get(reader, np.empty(0, np.int32))
        new = np.array([self._numbers[word] for word in words.new], np.int32)
        table = self._tables[reader] = np.append(table, new)
        self._tokens.add(table[words.tokens])
        self._ends.extend((self._ends[-1] + np.cumsum(words.lengths)).tolist())

    def words(self) -> set[str]:
        """Return all words so far, and the stop words."""
        return set(self._numbers)

    def forward(self, vocabulary: Vocabulary) -> Forward:
        """Return the tokens of every text as numbers of a vocabulary that has all words.

        Stop words of the vocabulary are left out. The object cannot be used afterwards.
        """
        # Which words keep their accents depends on the stop words, which are known only now.
        words = list(map(vocabulary.splitter.key, self._numbers))
        number_of = places(vocabulary.forms, set(words))
        table = np.array([number_of[word] for word in words], np.int32)
        stopped = vocabulary.lemma_of[table] == STOPPED
        before: NDArray[np.int64] = np.frombuffer(self._ends, np.int64)
        ends = np.zeros(len(before), np.int64)
        tokens = self._tokens.array()

        def renumbered() -> Iterator[NDArray[np.int32]]:
            for begin, end in spans(before, _TOKENS):
                own = before[begin : end + 1]
                part = tokens[own[0] : own[-1]]
                kept = ~stopped[part]
                counts = np.append(0, np.cumsum(kept))  # of the tokens before each one
                ends[begin + 1 : end + 1] = ends[begin] + counts[own[1:] - own[0]]
                yield table[part[kept]]
                release(tokens)

        kept_tokens = packed(renumbered(), np.int32)  # also completes `ends`
        return Forward(ends, kept_tokens)
