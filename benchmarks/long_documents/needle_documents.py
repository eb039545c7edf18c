"""Long documents of several chunks, one of which is real and answers queries.

A chunk that fills up a document belongs to no judged document. So no other document of the
collection holds the real chunk of one.
"""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.built.trained import HELD_OUT, LEARN
from benchmarks.cross_encoders.scope import STEP, Scope, Sizes
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.collection import Collection, Document, Query, write_collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.indexing.wordpieces import read_tokenizer
from ranklet.training.pretrained.backbone import wheel_folder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHUNKS = 4
PARTS = ("ss", "bq", "md")  # of qa-mix, whose documents are long enough
FILLING = (*PARTS, "nq")  # nobody asks for what nq has
SEED = 0
TRAIN, HELD, DEV = "train", "held", "dev"  # splits of the needle collection
CODE = ("benchmarks/long_documents/needle_documents.py", "training/data/splits.py")


class Hidden(NamedTuple):
    """Where the real chunk of a document is, and what surrounds it.

    Attributes:
        place: of the real chunk, from 0.
        others: numbers of the chunks that fill up the document, in their order.
    """

    place: int
    others: tuple[int, ...]


def hidden(name: str, fillers: int, chunks: int = CHUNKS, seed: int = SEED) -> Hidden:
    """Draw a uniform place and different other chunks; they depend on nothing but the arguments.

    Args:
        name: id of the document.
        fillers: how many other chunks there are, at least ``chunks - 1``.
        chunks: of the document.
        seed: of the draw.
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    place = int(rng.integers(chunks))
    return Hidden(place, tuple(rng.choice(fillers, chunks - 1, replace=False).tolist()))


def needle(name: str, chunk: str, fillers: Sequence[str], *, first: bool = False) -> Document:
    """Return a document with a real chunk at its place, or in front of the same other chunks.

    >>> needle("a", "real", ["one", "two", "three"], first=True).text.split()[0]
    'real'
    """
    drawn = hidden(name, len(fillers))
    texts = [fillers[at] for at in drawn.others]
    texts.insert(0 if first else drawn.place, chunk)
    return Document(name, "", "\n".join(texts))


def beginning(text: str, offsets: Sequence[tuple[int, int]], most: int, least: int) -> str:
    """Return the first word pieces of a text in one line; empty if there are too few.

    >>> beginning("one two three", [(0, 3), (4, 7), (8, 13)], 2, 1)
    'one two'
    >>> beginning("one", [(0, 3)], 2, 2)
    ''

    Args:
        text: of a document.
        offsets: the characters of each word piece.
        most: word pieces that are kept.
        least: word pieces that a text must have.
    """
    kept = offsets[:most]
    return " ".join(text[: kept[-1][1]].split()) if len(offsets) >= max(least, 1) else ""


def answerable(
    queries: Sequence[JudgedQuery], chunks: Mapping[str, str], most: int
) -> list[JudgedQuery]:
    """Return queries all of whose relevant documents have a chunk, drawn at random, in order."""
    usable = [each for each in queries if chunks.keys() >= each.relevant.keys()]
    drawn = np.random.default_rng(SEED).permutation(len(usable))[:most]
    return [usable[at] for at in sorted(drawn.tolist())]


def collection(scope: Scope, *, first: bool) -> Collection:
    """Return the collection, kept. Its splits are parts of qa-mix's.

    Args:
        scope: of the run.
        first: whether the real chunk is always first, which is the control.
    """
    sizes, source = scope.sizes, scope.place.collection("qa-mix")

    def build(path: Path) -> None:
        judged = {
            name
            for split in ("train", "dev")
            for grades in source.qrels(split).values()
            for name in grades
        }
        tokenizer = read_tokenizer(scope.backbone or wheel_folder())
        parts = _beginnings(source, tokenizer, sizes)
        chunks = {name: text for name, text in parts.items() if _part(name) in PARTS}
        fillers = [text for name, text in parts.items() if name not in judged]
        splits = {
            TRAIN: answerable(read_split(source, LEARN), chunks, learning_queries(sizes)),
            HELD: answerable(read_split(source, HELD_OUT), chunks, 2 * sizes.needle_pool),
            DEV: answerable(read_split(source, "dev"), chunks, sizes.others),
        }
        needed = {name for own in splits.values() for each in own for name in each.relevant}
        spare = judged - needed
        others = [name for name in chunks if name in spare]
        room = max(0, sizes.needles - len(needed))
        drawn = np.random.default_rng(SEED).permutation(len(others))[:room]
        real = needed | {others[at] for at in drawn.tolist()}
        write_collection(
            path,
            (needle(each, chunks[each], fillers, first=first) for each in chunks if each in real),
            {
                split: (
                    [Query(each.id, each.text) for each in own],
                    {each.id: each.relevant for each in own},
                )
                for split, own in splits.items()
            },
            overwrite=True,
        )

    place = "first" if first else "anywhere"
    told = f"{sizes.needle_steps}.{sizes.others}.{sizes.needles}.{sizes.chunk}-{sizes.least}"
    return Collection(scope.place.keep(f"needle.{place}.{told}", build, CODE))


def learning_queries(sizes: Sizes) -> int:
    """Return how many queries networks learn from."""
    return sizes.needle_steps * STEP


def _beginnings(source: Collection, tokenizer: "Tokenizer", sizes: Sizes) -> dict[str, str]:
    """Return a chunk of each document that is long enough, by id."""
    found = {}
    for document in source.documents():
        if _part(document.id) in FILLING:
            text = ranked_text(document.title, document.text)
            offsets = tokenizer.encode(text, add_special_tokens=False).offsets
            if chunk := beginning(text, offsets, sizes.chunk, sizes.least):
                found[document.id] = chunk
    return found


def _part(name: str) -> str:
    """Return the part of qa-mix that a document is from.

    >>> _part("ss-amazon-p0")
    'ss'
    """
    return name.partition("-")[0]
