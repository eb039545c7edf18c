"""A query and a document as what a cross-encoder reads: [CLS] query [SEP] chunk [SEP], by chunk.

The one place where pairs become token ids, for training and serving alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.storage.checks import check_integer, check_one_of
from ranklet.runtime.text.chunks import Span, covered, piece_chunks, within, word_windows
from ranklet.runtime.text.lexicon import Lexicon, Word
from ranklet.runtime.text.marking import STRATEGIES, Marker, Marks, inserted

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Names of the graph's inputs, int64: the first three (chunks, tokens); `pairs` is (pairs, chunks),
# 1 where a chunk is of that pair.
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "pairs")

CHUNKINGS = ("pieces", "words")
LEVELS = ("document", "chunk")
EXPANSIONS = {"none": "", "mask": "[MASK]", "hash": "#"}
EXPANSION = 8  # tokens appended to a query (001, §7.6)
SIMPLE = "#"  # the token of the simple marking strategies
AROUND = 3  # [CLS], and [SEP] twice


@dataclass(frozen=True)
class PairFormat:
    """How a query and a document become token ids.

    Attributes:
        max_query_tokens: longer queries are cut; expansion counts, [CLS], [SEP] and marks do not.
        max_tokens: of one sequence, all counted. A chunk has what the query leaves it.
        chunks: of a document at most; 1 reads its beginning only (paper 000: 1, or 3 of 512).
        chunking: pieces, one chunk after another; words, windows that overlap (001, §7.2.3).
        window: words of a window.
        stride: words from one window's beginning to the next one's.
        marking: of exact matches, see `Marker`.
        mark_level: whether a query term is marked where the document has it, or the chunk.
        expansion: what is appended to the query: none, mask ([MASK]) or hash (#) (001, §7.6).
    """

    max_query_tokens: int = 32
    max_tokens: int = 128
    chunks: int = 1
    chunking: str = "pieces"
    window: int = 150
    stride: int = 75
    marking: str = "none"
    mark_level: str = "document"
    expansion: str = "none"

    def __post_init__(self) -> None:
        """Check every value."""
        check_integer("max_query_tokens", self.max_query_tokens, 1, 8192)
        check_integer("max_tokens", self.max_tokens, AROUND + 2, 8192)
        check_integer("chunks", self.chunks, 1, 1024)
        check_integer("window", self.window, 1, 8192)
        check_integer("stride", self.stride, 1, self.window)
        check_one_of("chunking", self.chunking, CHUNKINGS)
        check_one_of("marking", self.marking, STRATEGIES)
        check_one_of("mark_level", self.mark_level, LEVELS)
        check_one_of("expansion", self.expansion, tuple(EXPANSIONS))
        if self.expansion == "hash" and self.marking.startswith("sim"):
            raise InputError(
                f"expansion is 'hash' and marking {self.marking!r}: the one token # would be two "
                "things; take the expansion mask, or a precise marking"
            )
        if self.own_query_tokens < 1:
            raise InputError(
                f"max_query_tokens is {self.max_query_tokens}; the expansion alone takes "
                f"{EXPANSION}: allow more"
            )
        # With both sides of each word marked, a query is three times as long.
        longest = self.max_query_tokens * (3 if self.marking.endswith("pair") else 1)
        if longest + AROUND >= self.max_tokens:
            raise InputError(
                f"max_tokens is {self.max_tokens}, and a query may take {longest + AROUND} of "
                "them with its marks: allow more, or fewer for the query"
            )

    @property
    def own_query_tokens(self) -> int:
        """Tokens at most of the query itself, without the expansion."""
        return self.max_query_tokens - (0 if self.expansion == "none" else EXPANSION)


class Row(NamedTuple):
    """One input of the network."""

    ids: list[int]
    query: int  # tokens of segment 0: [CLS], query, [SEP]
    places: Sequence[int] = ()  # of the tokens behind: which piece of the document, −1 for a mark


class Pair(NamedTuple):
    """A query and a document, ready for the network."""

    rows: list[Row]  # a chunk each, at least one
    read: list[Span]  # the pieces of the document that each row holds
    stems: list[str]  # that are marked
    cut: bool  # whether some of the document is in no row


class Pairing:
    """Makes pairs; immutable, shared by all threads.

    Args:
        format: how.
        tokenizer: that the word pieces are of; it must have [CLS], [SEP] and [MASK].

    Raises:
        InputError: it lacks a token.
    """

    def __init__(self, format: PairFormat, tokenizer: "Tokenizer") -> None:  # noqa: A002
        self.format, self._lexicon = format, Lexicon(tokenizer)
        needed = {"[CLS]", "[SEP]", "[MASK]", EXPANSIONS[format.expansion]} - {""}
        if format.marking.startswith("sim"):
            needed.add(SIMPLE)
        ids = {token: _id(tokenizer, token) for token in needed}
        self._cls, self._sep = ids["[CLS]"], ids["[SEP]"]
        self.marker = Marker(format.marking, self._lexicon, ids.get(SIMPLE, -1))
        expansion = EXPANSIONS[format.expansion]
        self._marks = format.marking != "none"
        self._expansion = [ids[expansion]] * EXPANSION if expansion else []
        # Tokens that are no text: what compares the texts' tokens leaves them out.
        marks = self.marker.tokens
        self.special = sorted({self._cls, self._sep, ids["[MASK]"], *self._expansion, *marks})

    def query(self, pieces: Sequence[int]) -> list[int]:
        """Return what is read of a query; where matches are marked, whole words alone."""
        most = self.format.own_query_tokens
        if self._marks and len(pieces) > most:
            most = self._lexicon.word_begin(pieces, most) or most
        return list(pieces[:most])

    def pair(self, query: Sequence[int], document: Sequence[int]) -> Pair:
        """Return a query and a document as sequences.

        Args:
            query: word pieces, out of `query`.
            document: word pieces, all of them.
        """
        rows, read = [], []
        stems: dict[str, None] = {}
        for row, span, marks in self._chunks(query, document):
            rows.append(row)
            read.append(span)
            stems.update(dict.fromkeys(marks))
        return Pair(rows, read, list(stems), covered(read) < len(document))

    def _chunks(
        self, query: Sequence[int], document: Sequence[int]
    ) -> Iterator[tuple[Row, Span, Marks]]:
        """Yield each chunk beside the query, the pieces that it holds, and what is marked."""
        form, length = self.format, len(document)
        room = form.max_tokens - AROUND - len(query) - len(self._expansion)  # but for marks
        windows = self._windows(document)
        asked: list[Word] = []
        held: list[Word] = []
        if self._marks:  # of the document, the words that may be read
            most = length if windows else min(length, room * form.chunks)
            asked = self._lexicon.words(query)
            held = self._lexicon.words(document[: self._lexicon.word_end(document, most)])
        marks = self.marker.marks(
            asked, within(held, windows or piece_chunks(length, room, form.chunks))
        )
        reached = 0
        for at in range(len(windows) or form.chunks):
            # A chunk of pieces begins where the one before had no room left.
            begin, end = windows[at] if windows else (reached, length)
            if at and begin >= length:
                return
            if form.mark_level == "chunk":
                marks = self.marker.marks(asked, within(held, [(begin, min(end, begin + room))]))
            marked = self.marker.query(query, asked, marks)
            first = [self._cls, *marked, *self._expansion, self._sep]
            left = form.max_tokens - len(first) - 1
            chunk, places = inserted(document, held, marks, (begin, end), left)
            reached = next((at for at in reversed(places) if at >= 0), begin - 1) + 1
            yield Row([*first, *chunk, self._sep], len(first), places), (begin, reached), marks

    def _windows(self, document: Sequence[int]) -> list[Span]:
        form = self.format
        if form.chunking == "pieces":
            return []
        begins = self._lexicon.word_begins(document)
        return word_windows(begins, len(document), form.window, form.stride, form.chunks)


def _id(tokenizer: "Tokenizer", token: str) -> int:
    found: int | None = tokenizer.token_to_id(token)
    if found is None:
        raise InputError(f"the tokenizer has no token {token!r}; take one made for BERT")
    return found


def pair_inputs(pairs: Sequence[Sequence[Row]], padding: int = 0) -> dict[str, NDArray[np.int64]]:
    """Return the network's inputs for some pairs, by the names of `INPUTS`.

    Args:
        pairs: the rows of each, at least one.
        padding: the id of [PAD].
    """
    rows = [row for each in pairs for row in each]
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, mask, segments = np.full(shape, padding), np.zeros(shape, int), np.zeros(shape, int)
    for at, row in enumerate(rows):
        ids[at, : len(row.ids)] = row.ids
        mask[at, : len(row.ids)] = 1
        segments[at, row.query : len(row.ids)] = 1
    owner = np.repeat(np.arange(len(pairs)), [len(each) for each in pairs])
    belongs = np.arange(len(pairs))[:, None] == owner
    arrays = (ids, mask, segments, belongs)
    return {name: each.astype(np.int64) for name, each in zip(INPUTS, arrays, strict=True)}
