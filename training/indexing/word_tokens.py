"""Collect the words of many texts as numbers in a file, without keeping any text."""

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.splitter import LONGEST, Splitter
from ranklet.runtime.text.words import SPLITTER
from ranklet.training.indexing.packer import NumberPacker, packed, release, spans
from ranklet.training.indexing.vocabulary import places

_TEXTS = 256  # texts whose words are numbered at a time
_TOKENS = 1 << 20  # tokens that are renumbered at a time
_CACHED = 1 << 18  # words of chunks that are cached before the cache is emptied


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


class WordTokens:
    """The words of texts, without stop words.

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
        self._tokens, self._ends = NumberPacker(np.int32), array("q", [0])
        self._chunks = _Chunks(splitter, self._numbers)
        self._waiting, self._lengths = array("i"), list[int]()  # chunks of the waiting texts

    def add(self, text: str) -> None:
        """Add the words of the next text."""
        chunks = self._splitter.chunks(text)
        self._waiting.extend(map(self._chunks.__getitem__, chunks))
        self._lengths.append(len(chunks))
        if len(self._lengths) == _TEXTS:
            self._number()

    def words(self) -> set[str]:
        """Return all words so far, and the stop words."""
        return set(self._numbers)

    def forward(self, vocabulary: Vocabulary) -> Forward:
        """Return the tokens of every text as numbers of a vocabulary that has all words.

        Stop words of the vocabulary are left out. The object cannot be used afterwards.
        """
        self._number()
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

    def _number(self) -> None:
        """Store the words of the waiting texts."""
        chunks = np.frombuffer(self._waiting, np.int32)
        words = np.frombuffer(self._chunks.words, np.int32)
        ends = np.frombuffer(self._chunks.ends, np.int64)
        counts = ends[chunks + 1] - ends[chunks]
        before = np.cumsum(counts) - counts
        places = np.repeat(ends[chunks] - before, counts) + np.arange(counts.sum())
        texts = np.arange(len(self._lengths)).repeat(self._lengths).repeat(counts)
        kept = words[places] >= self._stopped
        self._tokens.add(words[places[kept]])
        lengths = np.bincount(texts[kept], minlength=len(self._lengths))
        self._ends.extend((self._ends[-1] + np.cumsum(lengths)).tolist())
        self._waiting, self._lengths = array("i"), []
        if len(ends) + len(words) > _CACHED:
            self._chunks = _Chunks(self._splitter, self._numbers)
