"""Turn a query and a document into cross-encoder inputs, [CLS] query [SEP] chunk [SEP] per chunk.

The special tokens are those that the tokenizer puts around a pair. This is the one place where
pairs become token ids, for both training and serving.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    MOST_TEXT,
    Checked,
    Idle,
    check_integer,
    integer,
    one_of,
    text,
)
from ranklet.runtime.text.chunks import Span, count_covered, piece_chunks, within, word_windows
from ranklet.runtime.text.lexicon import Lexicon, Word
from ranklet.runtime.text.marking import STRATEGIES, Marker, Marks, insert_marks
from ranklet.runtime.text.tokenizing import encodable, encode

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer

BERT_SEGMENTS = (0, 0, 0, 1, 1)  # 0 up to the first [SEP], then 1
# Names of the graph's inputs, all int64. The first three are (chunks, tokens). `pairs` is (pairs,
# chunks), 1 where a chunk belongs to that pair.
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "pairs")
MOST_TOKENS = 8192
CHUNKINGS = ("pieces", "words")
LEVELS = ("document", "chunk")
MASKS = ("[MASK]", "<mask>")  # BERT's, and RoBERTa's
EXPANSIONS = ("none", "mask", "hash")
EXPANSION = 8  # number of tokens appended to a query (Boualili, §7.6)
SIMPLE = "#"  # the token of the simple marking strategies, and of the expansion hash
QUERY, DOCUMENT = "{query}", "{document}"  # their places in a template, in this order
AROUND = 3  # [CLS] and two [SEP], the fewest tokens around a pair


class PairLayout(NamedTuple):
    """The token ids around a pair of texts."""

    prefix: list[int]  # before the first text
    middle: list[int]  # between the texts
    suffix: list[int]  # after the second text
    segments: tuple[int, ...]  # token_type_ids of prefix, first text, middle, second text, suffix

    @property
    def around(self) -> int:
        """The number of tokens that are not text."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


def pair_layout(tokenizer: "Tokenizer") -> PairLayout:
    """Return what a tokenizer puts around the texts of a pair.

    A tokenizer without post-processing gets BERT's layout.

    Raises:
        InputError: it has neither post-processing for pairs nor BERT's special tokens.
        BundleError: it fails.
    """
    encoding = encode(tokenizer, "a", "b", special=True)
    ids, texts, types = encoding.ids, encoding.sequence_ids, encoding.type_ids
    places = [[at for at, text in enumerate(texts) if text == number] for number in (0, 1)]
    if None not in texts or not all(places):
        cls, sep = token_id(tokenizer, "[CLS]"), token_id(tokenizer, "[SEP]")
        return PairLayout([cls], [sep], [sep], BERT_SEGMENTS)
    (begin, *_, end), (second, *_, last) = [(row[0], row[-1] + 1) for row in places]
    parts = ids[:begin], ids[end:second], ids[last:]
    # A part without tokens takes the type of the text before it.
    ends = (begin - 1, begin, second - 1, second, len(ids) - 1)
    return PairLayout(*parts, tuple(types[max(at, 0)] for at in ends))


def token_id(tokenizer: "Tokenizer", token: str) -> int:
    """Return the id of a token; raise InputError if the tokenizer does not have it."""
    index: int | None = tokenizer.token_to_id(token)
    if index is None:
        raise InputError(f"the tokenizer has no token {token!r}; use a tokenizer made for BERT")
    return index


@dataclass(frozen=True)
class PairFormat(Checked):
    """How a query and a document become token ids."""

    IDLE: ClassVar[Idle] = {
        **dict.fromkeys(("window", "stride"), ("chunking", "pieces")),
        **dict.fromkeys(("mark_tokens", "mark_level"), ("marking", "none")),
    }

    max_query_tokens: int = integer(32, "maximum tokens per query, with expansion", 1, MOST_TOKENS)
    max_tokens: int = integer(128, "maximum tokens of query and chunk", AROUND + 2, MOST_TOKENS)
    chunks: int = integer(1, "maximum chunks per document; 1 for its beginning", 1, 1024)
    chunking: str = one_of(
        "pieces", CHUNKINGS, "runs of word pieces, or overlapping windows of words"
    )
    window: int = integer(150, "words per window", 1, 8192)
    stride: int = integer(75, "words between the beginnings of windows", 1, 8192)
    marking: str = one_of("none", STRATEGIES, "exact matches to mark")
    mark_tokens: int = integer(
        128, "tokens of a row, beyond --max-tokens, that only marks may take", 0, MOST_TOKENS
    )
    mark_level: str = one_of("document", LEVELS, "mark terms of the document, or of the chunk")
    expansion: str = one_of("none", EXPANSIONS, f"{EXPANSION} tokens to append to queries")
    template: str = text(
        "", f"text of a pair that a language model reads, with {QUERY} and {DOCUMENT}", MOST_TEXT
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("stride", self.stride, 1, self.window)
        if self.template and not 0 <= self.template.find(QUERY) < self.template.find(DOCUMENT):
            raise InputError(f"template must contain {QUERY} and then {DOCUMENT}")
        if self.expansion == "hash" and self.marking.startswith("sim"):
            raise InputError(
                f"expansion is 'hash' and marking is {self.marking!r}, so the token # would have "
                "two meanings. Use the expansion 'mask' or a precise marking"
            )
        if self.own_query_tokens < 1:
            raise InputError(
                f"max_query_tokens is {self.max_query_tokens}, but the expansion alone takes "
                f"{EXPANSION}. Use a higher max_query_tokens"
            )
        self.check_room(AROUND)

    def check_room(self, around: int) -> None:
        """Raise InputError unless the longest query and tokens around a pair leave some room."""
        # Two markers per word make a query three times as long.
        longest = self.max_query_tokens * (3 if self.marking.endswith("pair") else 1)
        for taken, tokens in ((self.max_query_tokens, self.max_tokens), (longest, self.longest)):
            if taken + around >= tokens:
                raise InputError(
                    f"max_tokens is {tokens}, but a query with its markers may take "
                    f"{taken + around}. Use a higher max_tokens or a lower max_query_tokens"
                )

    @property
    def longest(self) -> int:
        """The maximum number of tokens of a row, with its marks."""
        return self.max_tokens + (0 if self.marking == "none" else self.mark_tokens)

    @property
    def own_query_tokens(self) -> int:
        """The maximum number of tokens of the query itself, without the expansion."""
        return self.max_query_tokens - (0 if self.expansion == "none" else EXPANSION)


class Row(NamedTuple):
    """One input of the network."""

    ids: list[int]
    query: int  # number of tokens in segment 0: [CLS], query, [SEP], or what a tokenizer has there
    places: Sequence[int] = ()  # the document piece of each token after segment 0, −1 for a marker


class Pair(NamedTuple):
    """A query and a document, ready for the network."""

    rows: list[Row]  # one per chunk, at least one
    read: list[Span]  # the document pieces in each row
    stems: list[str]  # the marked stems
    cut: bool  # whether a part of the document is in no row


class Pairing:
    """Makes pairs; immutable and shared by all threads.

    Args:
        format: how a query and a document become token ids.
        tokenizer: the tokenizer of the word pieces.

    Raises:
        InputError: the tokenizer lacks a token that the format needs, or puts so many tokens around
            a pair that the longest query leaves no room for a document.
    """

    def __init__(self, format: PairFormat, tokenizer: "Tokenizer") -> None:  # noqa: A002
        self.format, self._lexicon = format, Lexicon(tokenizer)
        written = format.template
        self.layout = layout = pair_layout(tokenizer) if not written else PairLayout([], [], [], ())
        self._tokenizer = tokenizer
        self._end = self._template_end() if written else []
        format.check_room(layout.around)
        self._marks = format.marking != "none"
        simple = token_id(tokenizer, SIMPLE) if format.marking.startswith("sim") else -1
        self.marker = Marker(format.marking, self._lexicon, simple)
        mask = next((name for name in MASKS if tokenizer.token_to_id(name) is not None), MASKS[0])
        appended = {"none": "", "mask": mask, "hash": SIMPLE}[format.expansion]
        self._expansion = [token_id(tokenizer, appended)] * EXPANSION if appended else []
        # These tokens are not text, so heads that compare the tokens of two texts skip them.
        around = {*layout.prefix, *layout.middle, *layout.suffix}
        known: int | None = tokenizer.token_to_id(mask)
        masks = set() if known is None else {known}
        self.special = sorted({*around, *masks, *self._expansion, *self.marker.tokens})

    def query(self, pieces: Sequence[int]) -> list[int]:
        """Return the pieces that are read of a query, only whole words if matches are marked."""
        most = self.format.own_query_tokens
        if self._marks and len(pieces) > most:
            most = self._lexicon.word_begin(pieces, most) or most
        return list(pieces[:most])

    def pair(self, query: Sequence[int], document: Sequence[int]) -> Pair:
        """Return a query and a document as the network's rows.

        Args:
            query: word pieces that `Pairing.query` returned.
            document: all word pieces of the document.
        """
        rows, read = [], []
        stems: dict[str, None] = {}
        for row, span, marks in self._chunks(query, document):
            rows.append(row)
            read.append(span)
            stems.update(dict.fromkeys(marks))
        return Pair(rows, read, list(stems), count_covered(read) < len(document))

    def pair_texts(self, query: str, document: str) -> Pair:
        """Return a pair of texts; of one that is too long the template's end is kept."""
        if not self.format.template:
            first, second = (encode(self._tokenizer, text).ids for text in (query, document))
            return self.pair(self.query(first), second)
        before, _, rest = self.format.template.partition(QUERY)
        between, _, after = rest.partition(DOCUMENT)
        begin = len(encodable(before + query + between))
        found = encode(self._tokenizer, before + query + between + document + after)
        end = begin + len(encodable(document))
        own = [at for at, (first, _) in enumerate(found.offsets) if begin <= first < end]
        most, ids = self.format.max_tokens, found.ids
        if len(ids) > most:
            ids = [*ids[: most - len(self._end)], *self._end][:most]
        read = sum(at < most - len(self._end) for at in own) if len(found.ids) > most else len(own)
        return Pair([Row(ids, len(ids))], [(0, read)], [], len(found.ids) > most)

    def _template_end(self) -> list[int]:
        """Return the tokens at the end of a template, whatever the texts are."""
        template = self.format.template
        one, other = (
            encode(self._tokenizer, template.replace(QUERY, text).replace(DOCUMENT, text)).ids
            for text in ("0", "1 2 3 4")
        )
        pairs = zip(reversed(one), reversed(other), strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return one[len(one) - same :]

    def _chunks(
        self, query: Sequence[int], document: Sequence[int]
    ) -> Iterator[tuple[Row, Span, Marks]]:
        """Yield the row of each chunk, the document pieces in it, and the marks."""
        form, layout, length = self.format, self.layout, len(document)
        taken = self.layout.around + len(query) + len(self._expansion)
        room = form.max_tokens - taken  # pieces of the document; marks have room of their own
        windows = self._windows(document)
        query_words: list[Word] = []
        document_words: list[Word] = []
        if self._marks:  # only the words that may be read
            most = length if windows else min(length, room * form.chunks)
            query_words = self._lexicon.words(query)
            document_words = self._lexicon.words(document[: self._lexicon.word_end(document, most)])
        marks = self.marker.marks(
            query_words, within(document_words, windows or piece_chunks(length, room, form.chunks))
        )
        reached = 0
        for number in range(len(windows) or form.chunks):
            # A chunk of pieces begins where the room of the chunk before it ended.
            begin, end = windows[number] if windows else (reached, length)
            if number and begin >= length:
                return
            if form.mark_level == "chunk":
                chunk_words = within(document_words, [(begin, min(end, begin + room))])
                marks = self.marker.marks(query_words, chunk_words)
            marked_query = self.marker.query(query, query_words, marks)
            first = [*layout.prefix, *marked_query, *self._expansion, *layout.middle]
            left = form.longest - len(first) - len(layout.suffix)
            span = begin, min(end, begin + room)  # as much of the text as without marks
            chunk, places = insert_marks(document, document_words, marks, span, left)
            reached = next((piece for piece in reversed(places) if piece >= 0), begin - 1) + 1
            yield Row([*first, *chunk, *layout.suffix], len(first), places), (begin, reached), marks

    def _windows(self, document: Sequence[int]) -> list[Span]:
        form = self.format
        if form.chunking == "pieces":
            return []
        begins = self._lexicon.word_begins(document)
        return word_windows(begins, len(document), form.window, form.stride, form.chunks)


def pair_inputs(pairs: Sequence[Sequence[Row]], padding: int = 0) -> dict[str, NDArray[np.int64]]:
    """Return the network's inputs for some pairs, by the names in `INPUTS`.

    Args:
        pairs: the rows of each pair, at least one row per pair.
        padding: the id of [PAD].
    """
    rows = [row for pair in pairs for row in pair]
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, mask, segments = np.full(shape, padding), np.zeros(shape, int), np.zeros(shape, int)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = row.ids
        mask[i, : len(row.ids)] = 1
        segments[i, row.query : len(row.ids)] = 1
    owner = np.repeat(np.arange(len(pairs)), [len(pair) for pair in pairs])
    belongs = np.arange(len(pairs))[:, None] == owner
    arrays = (ids, mask, segments, belongs)
    return {name: array.astype(np.int64) for name, array in zip(INPUTS, arrays, strict=True)}
