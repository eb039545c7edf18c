"""Join word pieces into words and find the stem by which each word matches."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.text.splitter import APOSTROPHES
from ranklet.runtime.text.words import fold, stop_words

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer

_WITHIN = "##"  # the prefix of a piece that continues a word
_CLITIC = 2  # maximum letters after the apostrophe in don't, it's, we'll
UNSTEMMED = 2  # a word with at most this many letters is its own stem
_CACHE_SIZE = 1 << 16  # number of words whose stems are cached before the cache is emptied


class Word(NamedTuple):
    """A word of a text."""

    begin: int  # its first piece
    end: int  # the piece after its last
    stem: str  # words with equal stems match; empty for stop words and punctuation


class Lexicon:
    """The spellings of a tokenizer's word pieces.

    Args:
        tokenizer: a WordPiece tokenizer as BERT's, where pieces within a word begin with ##.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer, self._size = tokenizer, tokenizer.get_vocab_size()
        self._stems: dict[tuple[int, ...], str] = {}

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _spelling(self) -> list[str]:
        """The spelling of each piece, empty for special tokens such as [CLS].

        It is made on first use, because rankers that mark nothing never need it and a cold start
        has little time.
        """
        spelling = [""] * self._size
        for token, index in self._tokenizer.get_vocab().items():
            if index < self._size:  # a damaged tokenizer has gaps in its ids; `verify` reports it
                spelling[index] = token
        for index, added in self._tokenizer.get_added_tokens_decoder().items():
            if added.special and index < self._size:
                spelling[index] = ""
        return spelling

    @cached_property
    def _within(self) -> list[bool]:
        return [piece.startswith(_WITHIN) for piece in self._spelling]

    @cached_property
    def _apostrophes(self) -> frozenset[int]:
        return frozenset(i for i, piece in enumerate(self._spelling) if piece in APOSTROPHES)

    def words(self, pieces: Sequence[int]) -> list[Word]:
        """Return the words of a text, in order.

        Raises:
            BundleError: a piece id lies past the vocabulary.
        """
        if not len(pieces):
            return []
        if not 0 <= min(pieces) <= max(pieces) < len(self):
            raise damaged(f"a document has a word piece past the {len(self)} of the tokenizer")
        within = self._within
        begins = [i for i, piece in enumerate(pieces) if not within[piece] or not i]
        words = [
            Word(begin, end, self._stem(tuple(pieces[begin:end])))
            for begin, end in zip(begins, [*begins[1:], len(pieces)], strict=True)
        ]
        self._part_contractions(words, pieces)
        return words

    def word_begins(self, pieces: Sequence[int]) -> list[int]:
        """Return the first piece of every word that is not punctuation."""
        return [word.begin for word in self.words(pieces) if self.is_word(pieces[word.begin])]

    def word_begin(self, pieces: Sequence[int], at: int) -> int:
        """Return the first piece of the word that piece `at` belongs to."""
        within = self._within
        while at and pieces[at] < len(within) and within[pieces[at]]:
            at -= 1
        return at

    def word_end(self, pieces: Sequence[int], at: int) -> int:
        """Return the end of the word that a cut before piece `at` splits; `at` if there is none."""
        within = self._within
        while at < len(pieces) and pieces[at] < len(within) and within[pieces[at]]:
            at += 1
        return at

    def is_word(self, piece: int) -> bool:
        """Return whether a piece holds a letter or a digit, so that it is not punctuation."""
        return any(letter.isalnum() for letter in self._spelling[piece])

    def _stem(self, pieces: tuple[int, ...]) -> str:
        cached = self._stems.get(pieces)
        if cached is None:
            word = self._folded(pieces)
            matches = word not in stop_words() and any(letter.isalnum() for letter in word)
            # Porter's own program leaves short words such as os, ms or c alone, too.
            cached = (_porter_stem(word) if len(word) > UNSTEMMED else word) if matches else ""
            if len(self._stems) >= _CACHE_SIZE:
                self._stems = {}  # replaced, not cleared, because another thread may be reading it
            self._stems[pieces] = cached
        return cached

    def _folded(self, pieces: Sequence[int]) -> str:
        return fold("".join(self._spelling[piece].removeprefix(_WITHIN) for piece in pieces))

    def _part_contractions(self, words: list[Word], pieces: Sequence[int]) -> None:
        """Remove the stems around apostrophes, because the tokenizer splits don't into three."""
        for i in range(1, len(words) - 1):
            if pieces[words[i].begin] not in self._apostrophes:
                continue
            before, after = words[i - 1], words[i + 1]
            first, second = (self._folded(pieces[w.begin : w.end]) for w in (before, after))
            if len(second) <= _CLITIC:
                words[i + 1] = after._replace(stem="")
            if f"{first}'{second}" in stop_words():
                words[i - 1] = before._replace(stem="")


def _porter_stem(word: str) -> str:
    """Return the stem of a word in lower case (M. F. Porter 1980), as Snowball finds it."""
    from snowballstemmer.porter_stemmer import PorterStemmer

    # A stemmer keeps the word that it works on, so threads must not share one.
    stem: str = PorterStemmer().stemWord(word)
    return stem
