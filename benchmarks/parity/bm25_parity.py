"""BM25 is the published one: the same scores as bm25s, and nDCG@10 of scifact.

bm25s is given our very tokens, so what is compared is the formula and the retrieval and not the
text analysis; the untuned quality over lemmas and words then shows what that analysis is worth.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.peers import bm25s_index
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.measures import Judged, mean, parse_measure
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings

PACKAGES = ("bm25s", "simplemma")
COLLECTION, SPLIT, DEPTH = "scifact", "test", 100
TOLERANCE = 1e-4  # of a score; scores go up to about 40
PUBLISHED = (0.676, 0.679)  # Anserini: stemmed, its two ways to index title and text
MEASURE = "nDCG@10"


def run(place: Place) -> str:
    """Compare with bm25s, and measure."""
    collection = place.collection(COLLECTION)
    queries = read_split(collection, SPLIT)
    analysed = analyse(collection.documents(), ["lemmas", "words"])
    rows = []
    for field in ("lemmas", "words"):
        gap, same, others = _compare(analysed, queries, field)
        quality = _quality(analysed, queries, field)
        rows.append([field, f"{gap:.1e}", f"{same} of {len(queries)}", others, f"{quality:.4f}"])
        if gap > TOLERANCE or others:
            raise ValueError(f"BM25 over {field} is not bm25s's: {gap}, {others} documents differ")
    settings = BM25Settings()
    head = ["field", "largest score difference", "same documents", "not explained by ties", MEASURE]
    return f"""
{COLLECTION}, {len(queries)} {SPLIT} queries, {len(analysed.documents):,} documents, k1 = \
{settings.k1}, b = {settings.b}, untuned; top {DEPTH} of each query against bm25s \
(`method="lucene"`, its numpy backend, our tokens).

{table(head, rows)}

- Scores differ by less than {TOLERANCE:g} at every rank. *Same documents* counts queries whose \
top {DEPTH} is the same set; elsewhere only documents that tie with the last score differ.
- Published untuned BM25 (Anserini, stems): {MEASURE} {PUBLISHED[0]} to {PUBLISHED[1]}.
"""


def _compare(
    analysed: AnalysedCollection, queries: list[JudgedQuery], field: str
) -> tuple[float, int, int]:
    """Return the largest score difference at any rank, queries with the same set, and strays."""
    tokens, ends = analysed.tokens(field), analysed.offsets(field)[1:-1]
    documents = np.split(tokens.astype(np.int32), ends)
    size = analysed.analyzer.size(field)
    theirs = bm25s_index(documents, {str(number): number for number in range(size)})
    ours = open_bm25(BM25Settings(field), analysed.postings(field))
    gap, same, strays = 0.0, 0, 0
    for each in queries:
        query = QueryContext(each.text, analysed.analyzer.begin())
        numbers, scores, _ = ours.retrieve(query, DEPTH)
        known = [token for token in query.tokens(field).tolist() if token < size]
        found = theirs.retrieve([known], k=DEPTH, show_progress=False, n_threads=0)
        peers, peer_scores = found.documents[0][: len(scores)], found.scores[0][: len(scores)]
        gap = max(gap, float(np.abs(scores - peer_scores).max(initial=0)))
        different = _different(numbers, scores, peers, peer_scores)
        same += not len(different)
        strays += int((np.abs(different - scores[-1]) > TOLERANCE).sum())
    return gap, same, strays


def _different(
    numbers: NDArray[np.uint32],
    scores: NDArray[np.float32],
    peers: NDArray[np.integer],
    peer_scores: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return the scores of documents that only one of the two lists has."""
    return np.concatenate([scores[~np.isin(numbers, peers)], peer_scores[~np.isin(peers, numbers)]])


def _quality(analysed: AnalysedCollection, queries: list[JudgedQuery], field: str) -> float:
    """Return the mean nDCG@10 of untuned BM25."""
    ours, goal = open_bm25(BM25Settings(field), analysed.postings(field)), parse_measure(MEASURE)
    rows, found, missed = [], [], []
    for each in queries:
        numbers, scores, _ = ours.retrieve(
            QueryContext(each.text, analysed.analyzer.begin()), goal.cutoff
        )
        hit, lost = grades(analysed, each, numbers)
        rows.append(scores[:, None])
        found.append(hit)
        missed.append(lost)
    judged = Judged.from_lists(rows, found, missed)
    return mean(judged, judged.scores(np.ones(1)), goal)
