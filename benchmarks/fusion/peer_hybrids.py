"""Hybrids of other projects as their pages show them; runs in the environment of the peers.

All of them get the same passages and the same vectors of one encoder, so that only the lexical half
and the fusion differ. Each prints, for every query, the numbers of its first passages.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lists = list[list[int]]  # numbers of passages for each query, best first
Vectors = NDArray[np.float32]
RRF = 60  # the constant of reciprocal ranks, as everybody has it


def bm25s_lists(texts: Sequence[str], queries: Sequence[str], depth: int) -> Lists:
    """Return BM25's lists by bm25s with its defaults, stop words and an English stemmer."""
    import bm25s
    import Stemmer

    def tokens(strings: Sequence[str]) -> Any:
        stemmer = Stemmer.Stemmer("english")
        return bm25s.tokenize(list(strings), stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens(texts), show_progress=False)
    found, _ = index.retrieve(tokens(queries), k=depth, show_progress=False)
    lists: Lists = found.tolist()
    return lists


def dense_lists(vectors: Vectors, asked: Vectors, depth: int) -> Lists:
    """Return the nearest passages by cosine."""
    return [np.argsort(-(vectors @ query), kind="stable")[:depth].tolist() for query in asked]


def ranks(first: Lists, second: Lists, depth: int) -> Lists:
    """Return lists by reciprocal ranks (Cormack et al. 2009)."""
    found = []
    for pair in zip(first, second, strict=True):
        score: dict[int, float] = {}
        for each in pair:
            for rank, number in enumerate(each, 1):
                score[number] = score.get(number, 0.0) + 1 / (RRF + rank)
        found.append(sorted(score, key=lambda number: (-score[number], number))[:depth])
    return found


def txtai_lists(
    texts: Sequence[str], queries: Sequence[str], vectors: Vectors, asked: Vectors, depth: int
) -> Lists:
    """Return the lists of txtai's hybrid with its defaults."""
    from txtai import Embeddings

    known = dict(zip([*texts, *queries], [*vectors, *asked], strict=True))

    def transform(strings: Sequence[str]) -> Vectors:
        return np.stack([known[each] for each in strings])

    embeddings = Embeddings(method="external", transform=transform, hybrid=True)
    embeddings.index([(number, text, None) for number, text in enumerate(texts)])
    return [[int(number) for number, _ in embeddings.search(each, depth)] for each in queries]


def lancedb_lists(
    texts: Sequence[str], queries: Sequence[str], vectors: Vectors, asked: Vectors, depth: int
) -> Lists:
    """Return the lists of LanceDB's hybrid with its defaults."""
    import lancedb

    with tempfile.TemporaryDirectory() as folder:
        rows = [
            {"number": number, "text": text, "vector": vector.tolist()}
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        passages = lancedb.connect(folder).create_table("passages", rows)
        passages.create_fts_index("text", replace=True)

        def search(query: str, vector: Vectors) -> list[int]:
            hybrid = passages.search(query_type="hybrid").vector(vector.tolist()).text(query)
            return [int(row["number"]) for row in hybrid.limit(depth).to_list()]

        return [search(*pair) for pair in zip(queries, asked, strict=True)]


def main() -> None:
    """Answer the request of `hybrid_peers`."""
    request = json.loads(Path(sys.argv[1]).read_text())
    texts, queries, depth = request["texts"], request["queries"], request["depth"]
    vectors, asked = np.load(request["vectors"]), np.load(request["asked"])
    words, meaning = bm25s_lists(texts, queries, depth), dense_lists(vectors, asked, depth)
    systems: dict[str, Callable[[], Lists]] = {
        "bm25s": lambda: words,
        "FastEmbed and bm25s, by ranks": lambda: ranks(words, meaning, depth),
        "txtai, hybrid": lambda: txtai_lists(texts, queries, vectors, asked, depth),
        "LanceDB, hybrid": lambda: lancedb_lists(texts, queries, vectors, asked, depth),
    }
    print(json.dumps({name: lists() for name, lists in systems.items()}))


if __name__ == "__main__":
    main()
