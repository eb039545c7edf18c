"""Collect the words of many texts as numbers in a file, without keeping any text."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.chunk_numbers import ChunkNumbers, Chunks
from ranklet.corpus.indexing.packer import NumberPacker, packed, release, spans
from ranklet.corpus.indexing.ragged import ranges
from ranklet.corpus.indexing.vocabulary import places
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.splitter import Splitter
from ranklet.runtime.text.words import SPLITTER

_TOKENS = 1 << 20  # tokens that are renumbered at a time
_CACHED = 1 << 20  # chunks and their words that are kept before they are forgotten
_SMALL = re.compile(b"[a-z]").search


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first looked up."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
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
        self._forget()

    def read(self, texts: Sequence[bytes]) -> Words:
        """Return the words of the next texts; the first words of all are the stop words."""
        chunks = Chunks.of(list(map(self._whispered, texts)))
        numbers, keys = self._chunks.find(chunks)
        unknown = np.flatnonzero(numbers == 0)
        new, places, found = dict[bytes, int](), list[int](), list[int]()
        for place, chunk in zip(unknown.tolist(), chunks.some(unknown), strict=True):
            number = new.get(chunk)
            if number is None:
                number = new[chunk] = len(self._ends)
                self._read_chunk(chunk.decode())
                places.append(place)
            found.append(number)
        numbers[unknown] = found
        self._chunks.add(keys[:, places])
        words, ends = (np.frombuffer(each, np.int32) for each in (self._words, self._ends))
        counts = np.diff(ends, prepend=np.int32(0))
        own = counts.take(numbers)
        tokens = words.take(ranges((ends - counts).take(numbers), own))
        after = np.append(0, np.cumsum(own))  # tokens up to each chunk
        of_texts = np.diff(after[np.append(0, np.cumsum(chunks.of_texts))])
        told = list(islice(reversed(self._numbers), len(self._numbers) - self._told))[::-1]
        self._told = len(self._numbers)
        if len(ends) + len(words) > _CACHED:
            self._forget()
        return Words(told, tokens, of_texts)

    def _forget(self) -> None:
        """Begin to number chunks anew."""
        self._chunks = ChunkNumbers()
        # Words of all chunks but stop words, one after the other, and where those of each end.
        self._words, self._ends = array("i"), array("i", [0])

    def _read_chunk(self, chunk: str) -> None:
        """Add the words of a chunk, in which there may be spaces that are not ASCII."""
        for part in chunk.split():
            numbers = map(self._numbers.__getitem__, self._splitter.of_chunk(part))
            self._words.extend(filter(self._stopped.__le__, numbers))
        self._ends.append(len(self._words))

    def _whispered(self, text: bytes) -> bytes:
        return text if _SMALL(text) else self._splitter.whispered(text.decode()).encode()


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
