"""A query and a document as what a cross-encoder reads: [CLS] query [SEP] chunk [SEP], by chunk.

The one place where pairs become token ids, for training and serving alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.settings import check_integer, check_one_of
from ranklet.runtime.text.chunks import Span, piece_chunks, word_windows
from ranklet.runtime.text.lexicon import Lexicon
from ranklet.runtime.text.marking import STRATEGIES, Marker

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


class Pair(NamedTuple):
    """A query and a document, ready for the network."""

    rows: list[Row]  # a chunk each, at least one
    stems: list[str]  # that are marked
    cut: bool  # whether some of the document is not read


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
        self._expansion = [ids[expansion]] * EXPANSION if expansion else []
        # Tokens that are no text: what compares the texts' tokens leaves them out.
        self.special = sorted({self._cls, self._sep, ids["[MASK]"], *self.marker.tokens})

    def query(self, pieces: Sequence[int]) -> list[int]:
        """Return what is read of a query."""
        return list(pieces[: self.format.own_query_tokens])

    def pair(self, query: Sequence[int], document: Sequence[int]) -> Pair:
        """Return a query and a document as sequences.

        Args:
            query: word pieces, out of `query`.
            document: word pieces, all of them.
        """
        form = self.format
        spans = self._spans(query, document)
        chunks = [list(document[begin:end]) for begin, end in spans]
        if form.mark_level == "document":
            marked = self.marker.mark(query, chunks)
            queries, chunks, stems = [marked.query] * len(chunks), marked.chunks, marked.stems
        else:
            each = [self.marker.mark(query, [chunk]) for chunk in chunks]
            queries, chunks = [one.query for one in each], [one.chunks[0] for one in each]
            stems = list(dict.fromkeys(stem for one in each for stem in one.stems))
        made, cut = [], spans[-1][1] < len(document)
        for asked, chunk in zip(queries, chunks, strict=True):
            first = [self._cls, *asked, *self._expansion, self._sep]
            room = form.max_tokens - len(first) - 1
            cut = cut or len(chunk) > room
            made.append(Row([*first, *chunk[:room], self._sep], len(first)))
        return Pair(made, stems, cut)

    def read(self, query: Sequence[int], document: Sequence[int]) -> list[Span]:
        """Return which pieces of a document each row of its pair holds; both as `pair` takes them.

        Marks may push some pieces out of a row.
        """
        found = []
        rows = self.pair(query, document).rows
        for row, (begin, end) in zip(rows, self._spans(query, document), strict=True):
            at = begin
            for piece in row.ids[row.query : -1]:  # what is none of the document's is a mark
                if at < end and piece == document[at]:
                    at += 1
            found.append((begin, at))
        return found

    def _spans(self, query: Sequence[int], document: Sequence[int]) -> list[Span]:
        form = self.format
        if form.chunking == "pieces":
            room = form.max_tokens - AROUND - len(query) - len(self._expansion)
            return piece_chunks(len(document), room, form.chunks)
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
