"""Learn a table of queries from an exported network, in minutes, and keep it.

The network encodes what the table is to learn: first random words of its own vocabulary, so that
such a table serves every collection, and then texts. Both are kept by their digests.
"""

import hashlib
import inspect
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.progress import Measured, progress
from ranklet.export.query_side import Learned, Teacher
from ranklet.runtime.text.tokenizing import Tokenizer, encode_batch
from ranklet.workflows import kept
from ranklet.workflows.tables import texts as texts_module
from ranklet.workflows.tables.texts import bare, list_words, random_texts

MODEL_SHARE = 0.6  # of the minutes are for the model's own words, the others for texts
ENCODING_SHARE = 0.9  # of these are for the network, the others for the table
LEAST, MOST = 5_000, 400_000  # texts that are encoded
SINGLES = 40_000  # tokens that are encoded alone, at most
BLOCK = 1024  # texts
RAREST = 0.02  # is added to a token's rank, as a share of all, before the square root
LEARNING_TEXTS = "encoding texts for the table of queries"

_log = logging.getLogger(__name__)


def learn_table(teacher: Teacher, texts: Sequence[str], minutes: float) -> Learned:
    """Return the table that learned from a network's own words, and then from texts if there are.

    Args:
        teacher: the network.
        texts: in a random order; the first of them are used.
        minutes: how long it may take on this machine, unless it is kept.
    """
    first = _kept(teacher, [], minutes * MODEL_SHARE, lambda: _of_model(teacher, minutes))
    if not texts:
        return first
    return _kept(teacher, texts, minutes, lambda: _of_texts(teacher, texts, first, minutes))


def _of_model(teacher: Teacher, minutes: float) -> Learned:
    began, tokenizer = monotonic(), teacher.tokenizer
    alone = single_tokens(tokenizer)
    texts = chain(alone.values(), random_texts(list_words(tokenizer)))
    given, vectors = _encoded(teacher, texts, 60 * minutes * MODEL_SHARE, len(alone) + LEAST)
    begin = beginning([*alone], vectors[: len(alone)], tokenizer.get_vocab_size())
    return learned(teacher, given[len(alone) :], vectors[len(alone) :], begin, began)


def _of_texts(teacher: Teacher, texts: Sequence[str], first: Learned, minutes: float) -> Learned:
    began = monotonic()
    given, vectors = _encoded(teacher, texts, 60 * minutes * (1 - MODEL_SHARE), LEAST)
    return learned(teacher, given, vectors, first.rows, began)


def single_tokens(tokenizer: Tokenizer) -> dict[int, str]:
    """Return the spellings of tokens that are encoded alone, by their ids."""
    special = tokenizer.get_added_tokens_decoder()
    spelled = {
        at: bare(tokenizer.id_to_token(at) or "") for at in range(tokenizer.get_vocab_size())
    }
    known = {at: token for at, token in spelled.items() if token and at not in special}
    return dict(islice(known.items(), SINGLES))


def beginning(
    tokens: Sequence[int], vectors: NDArray[np.float16], size: int
) -> NDArray[np.float32]:
    """Return the table that a learning begins with, (size, dimension).

    Args:
        tokens: the ids of single tokens.
        vectors: the network's of each, (tokens, dimension).
        size: of the vocabulary.
    """
    own = vectors.astype(np.float32)
    own -= own.mean(0)
    own /= np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-9)
    rows = np.zeros((size, own.shape[1]), np.float32)
    # Tokens stand in the order of their frequency, about, so this is a smooth inverse frequency
    # (Arora et al. 2017, §3).
    rows[tokens] = own * np.sqrt(np.array(tokens) / size + RAREST)[:, None]
    return rows


def learned(
    teacher: Teacher, texts: Sequence[str], vectors: NDArray[np.float16],
    begin: NDArray[np.float32], began: float,
) -> Learned:  # fmt: skip
    """Return the table that learned from texts and the network's vectors of them, near a beginning.

    Args:
        teacher: the network.
        texts: any.
        vectors: of each, (texts, dimension).
        begin: what it begins with, (vocabulary, dimension).
        began: when all this began, of `monotonic`.
    """
    from ranklet.training.distilling.query_table import learn

    tokens = [each.ids for each in encode_batch(teacher.tokenizer, texts)]
    rows, cosine = learn(
        tokens, vectors, begin,
        lambda turn, value: _log.info("round %d: cosine of unseen texts %.3f", turn, value),
    )  # fmt: skip
    return Learned(rows, len(texts), cosine, monotonic() - began)


def _encoded(
    teacher: Teacher, texts: Iterable[str], seconds: float, least: int
) -> tuple[list[str], NDArray[np.float16]]:
    """Return as many of some texts as the network encodes in time, with their vectors."""
    began, given, vectors = monotonic(), list[str](), list[NDArray[np.float16]]()
    limit, waiting = seconds * ENCODING_SHARE, iter(texts)

    def blocks() -> Iterator[list[str]]:
        while block := list(islice(waiting, BLOCK)):
            yield block
            if len(given) >= MOST or (len(given) >= least and monotonic() - began > limit):
                return

    shown = Measured(blocks(), lambda: min(1.0, (monotonic() - began) / limit))
    for block in progress(shown, LEARNING_TEXTS):
        given += block
        vectors.append(teacher.encode(block).astype(np.float16))
    return given, np.concatenate(vectors)


def _kept(
    teacher: Teacher, texts: Sequence[str], minutes: float, make: Callable[[], Learned]
) -> Learned:
    """Return a table of an earlier build, or make it and keep it."""
    from ranklet.training.distilling import query_table

    found = hashlib.sha256(repr((teacher.digest, round(minutes, 3))).encode())
    for module in (query_table, texts_module):  # how it learns, and from what
        found.update(inspect.getsource(module).encode())
    for text in texts:
        found.update(text.encode("utf-8", "replace") + b"\0")
    key = found.hexdigest()
    if (path := kept.find(key)) is not None:
        with np.load(path, allow_pickle=False) as arrays:
            texts_, cosine, seconds = arrays["facts"].tolist()
            rows = arrays["rows"].astype(np.float32)
            return Learned(rows, int(texts_), cosine, seconds)
    made = make()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.zip"
        with file.open("wb") as opened:
            facts = np.array([made.texts, made.cosine, made.seconds])
            np.savez(opened, rows=made.rows.astype(np.float16), facts=facts)
        kept.keep(key, file)
    return made
