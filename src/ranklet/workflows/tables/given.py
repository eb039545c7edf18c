"""Learn a table of queries from texts and vectors that somebody else has computed.

There is no network to ask, so the table learns from whole passages, and from their sentences as if
these had the vectors of their passages, which is better than passages alone on queries of train.
If the owner has pairs of short texts and vectors, it learns from them afterwards. It splits texts
into word pieces that it has learned, too.
"""

from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.sources.source import Source
from ranklet.corpus.sources.vectors import COLUMN, GivenVectors
from ranklet.runtime.dense.stored import ExactIndex, StoredVectors
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.text.sentences import sentences
from ranklet.runtime.text.tokenizing import Tokenizer, encode_batch, special_ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Trained

# Of the word pieces. Half as many and twice as many were no better on three collections.
VOCABULARY, LEAST_FREQUENCY, ALPHABET = 30_000, 2, 8_000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NEAR, STEPS = 10.0, 8  # a passage says less of a word than a short text does, so λ is larger
MOST = 150_000_000  # numbers of vectors from which a table learns at a time, 0.6 GB
LEAST_WORDS = 3  # of a sentence
SECONDS = 2e-8  # of learning a number of one token of a passage, about
QUERIES, FIRST = 200, 10  # unseen texts whose first documents are compared


class GivenTable(NamedTuple):
    """A table, its tokenizer, and what is known of it."""

    rows: NDArray[np.float32]  # (vocabulary, dimension)
    tokenizer: "Trained"
    texts: int
    pairs: int
    cosine: float
    shared: float  # of the first documents by the texts' own vectors, how many it finds
    seconds: float

    def __str__(self) -> str:
        """Say what is known of it, in one line."""
        of = f" and {self.pairs:,} pairs" if self.pairs else ""
        return (
            f"a table of {len(self.rows):,} tokens in {self.rows.size / 1e6:.1f} MB encodes "
            f"queries; cosine to the vectors of unseen texts {self.cosine:.3f}, and "
            f"{self.shared:.0%} of its first {FIRST} are theirs; learned from {self.texts:,} "
            f"passages{of} in {self.seconds:.0f} s"
        )


def learn_given_table(
    texts: Sequence[str], vectors: NDArray[np.float32], pairs: Any, minutes: float
) -> GivenTable:
    """Return a table that learned from passages, and then from pairs near that.

    Args:
        texts: the passages.
        vectors: of each, (passages, dimension).
        pairs: a source of short texts with a column ``vector``; None for none.
        minutes: that it may take, about.

    Raises:
        CollectionError, InputError: the pairs cannot be read.
    """
    from ranklet.training.distilling.query_table import hold_out, learn

    began, dimension = monotonic(), vectors.shape[1]
    short = _read_pairs(pairs, dimension)
    chosen = evenly(len(texts), max(1, MOST // dimension))
    own = [texts[at] for at in chosen]
    tokenizer = train_tokenizer([*own, *short.texts])
    tokens = _split(tokenizer, own)
    each = 2 * dimension * SECONDS * max(1.0, float(np.mean([len({*ids}) for ids in tokens])))
    some = evenly(len(own), max(1, int(60 * minutes / each)))
    tokens, chosen = [tokens[at] for at in some], [chosen[at] for at in some]
    targets = _unit(vectors[chosen])
    parts, of = _sentences([texts[at] for at in chosen], hold_out(tokens)[1])
    room = evenly(len(parts), max(1, MOST // dimension - len(chosen)))
    more = _split(tokenizer, [parts[at] for at in room]), targets[[of[at] for at in room]]
    begin = np.zeros((tokenizer.get_vocab_size(), dimension), np.float32)
    rows, cosine = learn(tokens, targets, begin, near=NEAR, steps=STEPS, dampened=True, more=more)
    asked, wanted = tokens, targets
    if len(short.texts):
        asked, wanted = _split(tokenizer, short.texts), _unit(short.vectors)
        rows, cosine = learn(asked, wanted, rows)
    held = hold_out(asked)[0][:QUERIES]
    index = ExactIndex(StoredVectors(_unit(vectors)))
    shared = [_share(index, rows[asked[at]].sum(0), wanted[at]) for at in held]
    return GivenTable(
        rows, tokenizer, len(tokens), len(short.texts), cosine,
        float(np.mean(shared or [0.0])), monotonic() - began,
    )  # fmt: skip


def train_tokenizer(texts: Sequence[str]) -> "Trained":
    """Return a tokenizer of BERT's kind, whose word pieces are those of some texts.

    Its numbers decide between pairs of pieces that are equally frequent. Letters within words would
    be numbered in the order of a hash that differs each time. They are given in their own order, so
    the same texts make the same bytes.
    """
    from tokenizers import BertWordPieceTokenizer

    made = BertWordPieceTokenizer(lowercase=True)
    counts = Counter[str]()
    for text in texts:
        counts.update(made.normalizer.normalize_str(text))
    often = sorted(counts, key=lambda letter: (-counts[letter], letter))
    alphabet = sorted([letter for letter in often if not letter.isspace()][:ALPHABET])
    inner = [f"##{letter}" for letter in alphabet]
    made.train_from_iterator(
        texts, vocab_size=VOCABULARY + len(inner), min_frequency=LEAST_FREQUENCY,
        limit_alphabet=len(alphabet), initial_alphabet=alphabet, special_tokens=[*SPECIAL, *inner],
        show_progress=False,
    )  # fmt: skip
    plain = BertWordPieceTokenizer(made.get_vocab(), lowercase=True)  # in it no letter is special
    trained: Trained = plain._tokenizer
    return trained


class _Pairs(NamedTuple):
    texts: list[str]
    vectors: NDArray[np.float32]  # (texts, dimension)


def _read_pairs(pairs: Any, dimension: int) -> _Pairs:
    texts, vectors = list[str](), [np.empty((0, dimension), np.float32)]
    if pairs is not None:
        source = Source(pairs)
        source.vectors = GivenVectors(COLUMN, dimension)
        for each in source.documents():
            texts.append(each.text or each.title)
            vectors.append(np.array([each.vector], np.float32))
    return _Pairs(texts, np.concatenate(vectors))


def _sentences(texts: Sequence[str], numbers: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Return the sentences of some texts, and the number of the text of each."""
    found, of = list[str](), list[int]()
    for number in numbers.tolist():
        for begin, end, words in sentences(texts[number]):
            if words >= LEAST_WORDS:
                found.append(texts[number][begin:end])
                of.append(number)
    return found, of


def _split(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    special = {*special_ids(tokenizer)}
    found = encode_batch(tokenizer, texts)
    return [[id_ for id_ in each.ids if id_ not in special] for each in found]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _share(index: ExactIndex, own: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    """Return the share of the first documents by a wanted vector that another one finds, too."""
    first, there = (index.search(each, FIRST)[0] for each in (own, wanted))
    return float(np.isin(there, first).mean())
