"""The token vectors of a ColBERT, and the candidates that they are to rank."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import all_cores, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.tokens import token_ids
from ranklet.runtime.rankers.colbert.tokens import Role, TokenLayout
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.encoders.text_pairs import Tokens
from ranklet.training.indexing.analysed import analyse, open_bm25
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.srm.oracle import TokenVectors, oracle_vectors
from ranklet.training.sampling.ragged import packed

BLOCK = 1024  # documents whose vectors are read at a time
DEPTH = 100  # candidates
QUERY_TOKENS = 32
FOLDER = "light.vectors"  # of vectors that are kept
# Collection: split, queries, and tokens of a document.
REPORTED = {"qa-mix": ("dev", 1000, 128), "scifact": ("test", 300, 256)}


class Ranked(NamedTuple):
    """The queries of a collection, and what is reranked for them.

    Attributes:
        queries: with their relevant documents.
        ids: of the collection's documents, in their order.
        texts: of the documents.
        candidates: numbers of BM25's first documents for each query, best first.
        bm25: its scores of these, float32.
    """

    queries: list[JudgedQuery]
    ids: list[str]
    texts: list[str]
    candidates: list[NDArray[np.int64]]
    bm25: list[NDArray[np.float32]]

    def names(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the ids of documents."""
        return [self.ids[number] for number in numbers.tolist()]


def ranked(place: Place, name: str, depth: int = DEPTH) -> Ranked:
    """Return the queries of a collection that are reported, with the candidates of a tuned BM25."""
    split, limit, _ = REPORTED[name]
    collection, bm25 = place.collection(name), tuned_bm25(place, name)
    queries = read_split(collection, split, limit=limit)
    documents = list(collection.documents())
    analysed = analyse(documents, [bm25.field])
    retriever = open_bm25(bm25, analysed.postings(bm25.field))
    contexts = (QueryContext(query.text, analysed.analyzer.begin()) for query in queries)
    found = [retriever.retrieve(context, depth) for context in contexts]
    return Ranked(
        queries,
        [document.id for document in documents],
        [ranked_text(document.title, document.text, True) for document in documents],
        [each.numbers.astype(np.int64) for each in found],
        [each.scores for each in found],
    )


def token_vectors(
    place: Place, learned: Path, role: Role, texts: Sequence[str], limit: int
) -> TokenVectors:
    """Return the vectors of texts by the ColBERT in a folder, encoded on all cores and kept.

    Args:
        place: of the run.
        learned: the checkpoint.
        role: of the texts.
        texts: to encode.
        limit: tokens of a text that are read.
    """
    checkpoint = read_checkpoint(learned)
    settings = replace(checkpoint.settings, max_document_tokens=limit, max_query_tokens=limit)
    tokenizer = checkpoint.need_tokenizer()
    layout = TokenLayout(settings, tokenizer)
    ids, _ = token_ids(tokenizer, texts, layout.limit(role))
    tokens = Tokens(*packed([np.array(row, np.int64) for row in ids]))
    network, folder = colbert.load(checkpoint), place.work / FOLDER
    with all_cores():
        return oracle_vectors(network, layout, role, tokens, folder, f"vectors of a {role}")


def blocks(vectors: TokenVectors) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield some texts at a time: how many vectors each has, and these, (vectors, dimension)."""
    for begin in range(0, len(vectors), BLOCK):
        numbers = range(begin, min(begin + BLOCK, len(vectors)))
        lengths = np.array([len(vectors.of(number)[0].kept) for number in numbers], np.int64)
        yield lengths, vectors.tokens(numbers)[1].astype(np.float32)


def rotation(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Return the orthonormal directions in which vectors are largest, (their dimension, dimension).

    They are eigenvectors of Σ v vᵀ, so of all projections onto so many dimensions this one keeps
    inner products of such vectors best.

    >>> rotation(np.array([[0, 3], [0, -2], [1, 0]], np.float32), 1).round().tolist()
    [[0.0], [1.0]]
    """
    _, found = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    found = found[:, ::-1][:, :dimension]  # ascending, so the last are the largest
    largest = np.abs(found).argmax(0)
    signs = np.sign(found[largest, np.arange(dimension)])
    return np.asarray(found * signs, np.float32)


def rotated(checkpoint: Checkpoint, directions: NDArray[np.float32]) -> Checkpoint:
    """Return a ColBERT whose vectors are projected onto directions, (its dimension, fewer).

    With the cosine, its vectors are those of the other, projected and normalised again.
    """
    from ranklet.training.rankers.colbert.network import LAYERS

    (layer,) = checkpoint.network[LAYERS]
    (name,) = (each for each in checkpoint.weights if each.startswith("head."))
    weight = directions.T @ checkpoint.weights[name]
    return replace(
        checkpoint,
        settings=replace(checkpoint.settings, dimension=len(weight)),
        network={**checkpoint.network, LAYERS: [{**layer, "out": len(weight)}]},
        weights={**checkpoint.weights, name: weight},
    )
