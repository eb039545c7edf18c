"""Hybrid ranking on google-wiki: BM25 beside MiniLM, rescored by neural Model 1, stage by stage.

Text in, ten hits with their texts out. The query is encoded by the int8 variant, HNSW is searched
for 200 documents, BM25 gives 1,000, and the sparse table of neural Model 1 rescores all of them.
"""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import ENCODED_TOKENS, google_wiki_hybrid
from benchmarks.built.peers import opened, retriever_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, goal_at_least, table
from benchmarks.harness.timing import spread, take_turns
from ranklet import runtime
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.hnsw import HNSWIndex
from ranklet.runtime.dense.stored import ExactIndex
from ranklet.runtime.onnx.session import threads
from ranklet.runtime.rankers.dense import GRAPH, Dense, DenseSettings
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.storage.forward import Forward, Gathered

PACKAGES = ("onnxruntime", "tokenizers", "hnswlib")
QUERIES, ROUNDS, DEPTH = 300, 5, 1000
RECALL_AT, EF = 10, (32, 64, 128, 256)
MOST, MOST_RESCORING, LEAST_RECALL = 15.0, 1.0, 0.98
MARCO_PIECES = 75  # word pieces of a passage of MS MARCO, Boytsov & Kolter's collection
RERANKED = "neural Model 1, 1,000 passages of BM25, one thread"
SHORTENED = f"the same, of each passage its first {MARCO_PIECES} word pieces"


def run(place: Place) -> str:
    """Rank queries warm; search HNSW and exactly; rescore."""
    path = google_wiki_hybrid(place)
    bundle = runtime.load(path, device="cpu")
    queries = [q.text for q in read_split(place.collection("google-wiki"), "dev", limit=QUERIES)]
    whole, stages = _stages(bundle, queries)
    rescored = {
        RERANKED: rescoring(path, queries),
        SHORTENED: rescoring(path, queries, MARCO_PIECES),
    }
    rows = [[name, *spread(ms)] for name, ms in stages.items()]
    recalls = _recalls(path, queries)
    stored = bundle.manifest.rankers["dense"].measured["recall"]
    default = next(row for row in recalls if row[0] == f"HNSW, ef {DenseSettings().ef}")
    held = opened(path).documents
    if held is None:
        raise TypeError("the bundle has no documents")
    length = float(_pieces(held).lengths.mean())
    pairs = bundle.manifest.files["rankers/neural_model1/probabilities.npy"].bytes // 4
    return f"""
{len(bundle):,} documents, {len(queries)} dev queries, {threads()} threads for the encoder, numpy \
on one; figures of a query are medians of {ROUNDS} rounds, in ms. Documents were encoded from \
their first {ENCODED_TOKENS} tokens, which changes nothing for a query.

{table(["stage", "p50", "mean", "p99"], [*rows, ["**rank(), all of it**", *spread(whole)]])}

{goal("rank(), p50", float(np.median(whole)), MOST)}

{table(["", "p50", "mean", "p99"], [[name, *spread(ms)] for name, ms in rescored.items()])}

{goal("1,000 passages rescored, p50", float(np.median(rescored[RERANKED])), MOST_RESCORING)}
{goal(SHORTENED, float(np.median(rescored[SHORTENED])), MOST_RESCORING)}
- Its table has {pairs:,} pairs; it was learned from medquad. A passage here has {length:.0f} word \
pieces; those of MS MARCO have some {MARCO_PIECES}.

What HNSW (M {DenseSettings().m}, ef_construction {DenseSettings().ef_construction}) finds of \
the exact {RECALL_AT} nearest documents of these queries; one thread:

{table(["search", f"recall@{RECALL_AT}", "p50 ms", "mean", "p99"], recalls)}

{goal_at_least(f"HNSW, recall@{RECALL_AT} at the default ef", float(default[1]), LEAST_RECALL, "")}
- Measured when it was built, over documents as queries, and kept in the manifest: {stored:.3f}.
"""


def _stages(
    bundle: runtime.Bundle, queries: list[str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return ms of each query in all and by stage, (queries,) each."""
    noted: dict[str, list[list[float]]] = {}

    def rank(place: int) -> None:
        ranking = bundle.rank(queries[place], k=10)
        for stage, ms in ranking.timings:
            noted.setdefault(stage, [[] for _ in queries])[place].append(ms)

    whole = take_turns({"rank": rank}, range(len(queries)), ROUNDS)["rank"]
    by_stage = {
        stage: np.array([np.median(each[1:]) for each in rounds])  # the first warmed up
        for stage, rounds in noted.items()
    }
    return whole, by_stage


class Shortened(StoredCandidates):
    """Documents of which a ranker sees the first tokens alone."""

    def __init__(self, documents: Documents, numbers: NDArray[np.uint32], forward: Forward) -> None:
        super().__init__(documents, numbers)
        self._forward = forward

    def tokens(self, field: str) -> Gathered:  # noqa: ARG002
        """Return their first tokens."""
        return self._forward.gather(self._numbers)


def _pieces(documents: Documents) -> Gathered:
    """Return the word pieces of all documents."""
    return documents.tokens("wordpieces", np.arange(len(documents), dtype=np.uint32))


def _shortened(documents: Documents, most: int) -> Forward:
    """Return a forward store of the first word pieces of each document."""
    tokens, lengths = _pieces(documents)
    begins = np.cumsum(lengths) - lengths
    within = np.arange(len(tokens)) - np.repeat(begins, lengths)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    return Forward(offsets, tokens[within < most])


def rescoring(path: Path, queries: list[str], most: int | None = None) -> NDArray[np.float64]:
    """Return ms that neural Model 1 takes for BM25's first 1,000, (queries,).

    Args:
        path: of the bundle.
        queries: texts.
        most: word pieces of a document, None for all.
    """
    bundle = opened(path)
    first, ranker = retriever_of(bundle, "bm25"), ranker_of(bundle, "neural_model1")
    documents = bundle.documents
    if documents is None:
        raise TypeError("the bundle has no documents")
    short = _shortened(documents, most) if most else None
    asked = []
    for text in queries:
        query = QueryContext(text, bundle.analyzer.begin())
        numbers = first.retrieve(query, DEPTH).numbers
        if len(numbers) == DEPTH:
            query.tokens("wordpieces")  # rank() has them already when it comes to rescoring
            stored = StoredCandidates(documents, numbers)
            asked.append((query, Shortened(documents, numbers, short) if short else stored))
    return take_turns({"rescore": lambda pair: ranker.score(*pair)}, asked, ROUNDS)["rescore"]


def _recalls(path: Path, queries: list[str]) -> list[list[str]]:
    """Return a row a way to search: recall and times."""
    bundle = opened(path)
    ranker = ranker_of(bundle, "dense")
    if not isinstance(ranker, Dense):
        raise TypeError(f"dense is {ranker!r}")
    vectors = list(ranker.encoder.encode_queries(queries).vectors)
    exact = ExactIndex(ranker.vectors)
    wanted = [set(exact.search(vector, RECALL_AT)[0].tolist()) for vector in vectors]
    rows = []
    for ef in EF:
        data = bundle.file(f"rankers/dense/{GRAPH}")
        index = HNSWIndex(data, exact.vectors, ef=ef)
        ms = take_turns({"search": partial(index.search, k=RECALL_AT)}, vectors, ROUNDS)
        shares = [
            len(set(index.search(vector, RECALL_AT)[0].tolist()) & each) / RECALL_AT
            for vector, each in zip(vectors, wanted, strict=True)
        ]
        rows.append([f"HNSW, ef {ef}", f"{np.mean(shares):.4f}", *spread(ms["search"])])
    ms = take_turns({"search": partial(exact.search, k=RECALL_AT)}, vectors, 2)
    return [*rows, ["exact", "1.0000", *spread(ms["search"])]]
