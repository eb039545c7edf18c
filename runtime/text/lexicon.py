"""Words again, out of word pieces: which pieces make a word, and the stem that words match by."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ranklet.runtime.errors import BundleError
from ranklet.runtime.text.porter import stem
from ranklet.runtime.text.words import fold, stop_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WITHIN = "##"  # begins a piece that goes on with a word
_CLITIC = 2  # letters at most of what follows the apostrophe in don't, it's, we'll
UNSTEMMED = 2  # letters of a word that is its own stem
_CACHE_SIZE = 1 << 16  # words whose stems are kept; then the cache starts anew


class Word(NamedTuple):
    """A word of a text."""

    begin: int  # its first piece
    end: int  # the piece after its last
    stem: str  # what it matches by; empty where it matches nothing: stop words, punctuation


class Lexicon:
    """The spellings of a tokenizer's word pieces.

    Args:
        tokenizer: of BERT's kind: pieces within a word begin with ##.
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer, self._size = tokenizer, tokenizer.get_vocab_size()
        self._stems: dict[tuple[int, ...], str] = {}

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _spelling(self) -> list[str]:
        """Each piece as it is spelled, empty for [CLS] and the like; made when first needed.

        Rankers that mark nothing never need it, and a cold start has little time.
        """
        spelled = [""] * self._size
        for token, at in self._tokenizer.get_vocab().items():
            if at < self._size:  # ids with gaps are a damaged tokenizer's, which `verify` tells
                spelled[at] = token
        for at, added in self._tokenizer.get_added_tokens_decoder().items():
            if added.special and at < self._size:
                spelled[at] = ""
        return spelled

    @cached_property
    def _within(self) -> list[bool]:
        return [each.startswith(_WITHIN) for each in self._spelling]

    @cached_property
    def _apostrophes(self) -> frozenset[int]:
        return frozenset(at for at, each in enumerate(self._spelling) if each in ("'", "’"))

    def words(self, pieces: Sequence[int]) -> list[Word]:
        """Return the words of a text, in order.

        Raises:
            BundleError: a piece is past the vocabulary.
        """
        if not len(pieces):
            return []
        if not 0 <= min(pieces) <= max(pieces) < len(self):
            raise BundleError(
                f"a document has a word piece past the {len(self)} of the tokenizer: the bundle is "
                "damaged; run `ranklet verify` on it"
            )
        within = self._within
        begins = [at for at, piece in enumerate(pieces) if not within[piece] or not at]
        found = [
            Word(begin, end, self._stem(tuple(pieces[begin:end])))
            for begin, end in zip(begins, [*begins[1:], len(pieces)], strict=True)
        ]
        self._part_contractions(found, pieces)
        return found

    def word_begins(self, pieces: Sequence[int]) -> list[int]:
        """Return where the words begin that are not punctuation."""
        return [word.begin for word in self.words(pieces) if self.is_word(pieces[word.begin])]

    def word_begin(self, pieces: Sequence[int], at: int) -> int:
        """Return where the word begins that a piece is of."""
        within = self._within
        while at and pieces[at] < len(within) and within[pieces[at]]:
            at -= 1
        return at

    def word_end(self, pieces: Sequence[int], at: int) -> int:
        """Return the end of the word that is cut before a piece; `at` where none is."""
        within = self._within
        while at < len(pieces) and pieces[at] < len(within) and within[pieces[at]]:
            at += 1
        return at

    def is_word(self, piece: int) -> bool:
        """Tell a piece that holds a letter or a digit from punctuation."""
        return any(letter.isalnum() for letter in self._spelling[piece])

    def _stem(self, pieces: tuple[int, ...]) -> str:
        found = self._stems.get(pieces)
        if found is None:
            word = self._folded(pieces)
            matches = word not in stop_words() and any(letter.isalnum() for letter in word)
            # As Porter's own program has it: of os, ms or c nothing can be taken.
            found = (stem(word) if len(word) > UNSTEMMED else word) if matches else ""
            if len(self._stems) >= _CACHE_SIZE:
                self._stems = {}  # replaced, not cleared: another thread may be reading it
            self._stems[pieces] = found
        return found

    def _folded(self, pieces: Sequence[int]) -> str:
        return fold("".join(self._spelling[piece].removeprefix(_WITHIN) for piece in pieces))

    def _part_contractions(self, found: list[Word], pieces: Sequence[int]) -> None:
        """Take the stems from both sides of an apostrophe: the tokenizer parts don't into three."""
        for at in range(1, len(found) - 1):
            if pieces[found[at].begin] not in self._apostrophes:
                continue
            before, after = found[at - 1], found[at + 1]
            first, second = (self._folded(pieces[w.begin : w.end]) for w in (before, after))
            if len(second) <= _CLITIC:
                found[at + 1] = after._replace(stem="")
            if f"{first}'{second}" in stop_words():
                found[at - 1] = before._replace(stem="")
