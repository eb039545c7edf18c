"""What pseudo-relevance feedback (RM3) adds to BM25.

RM3 (Abdul-Jaleel et al. 2004) searches again with the terms of the first documents that BM25 finds.
Its three settings are chosen on queries of train, and the report is on others. It is a study, and
no ranker of ranklet.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.lexical.bm25 import idf, saturation
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.ranked import parse_ranked
from ranklet.training.evaluation.significance import interval, paired_t_test
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.indexing.language.options import WORDS

PACKAGES = ("scipy",)
FIELD, TUNED_ON, REPORTED, DEPTH = "lemmas", 300, 1000, 1000
MEASURES = ("MRR@10", "nDCG@10", "R@100")
GRID = tuple(product((5, 10), (10, 30), (0.5, 0.7, 0.9)))  # documents, terms, weight of the query
# The collection, whether its titles are ranked, the tuned k1 and b, and the reported split.
COLLECTIONS = (
    ("qa-mix", True, 0.3, 0.75, "dev"),
    ("medquad", False, 0.1, 0.6, "dev"),
    ("scifact", True, 1.2, 0.75, "test"),
    ("google-wiki", True, 1.2, 0.75, "dev"),
)


class Index(NamedTuple):
    """A collection for BM25 with weighted query terms.

    Attributes:
        weights: BM25's, (documents, terms) float32.
        shares: of each term in its document, (documents, terms) float32.
    """

    weights: csr_matrix
    shares: csr_matrix

    @classmethod
    def of(cls, analysed: AnalysedCollection, k1: float, b: float) -> "Index":
        """Return the index of a collection."""
        offsets, tokens = analysed.offsets(FIELD), analysed.tokens(FIELD)
        lengths, size = np.diff(offsets), analysed.analyzer.size(FIELD)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        counts = csr_matrix(
            (np.ones(len(tokens), np.float32), (rows, tokens)), (len(lengths), size)
        )
        of_row = np.repeat(lengths, np.diff(counts.indptr)).astype(np.float32)
        frequencies = np.bincount(counts.indices, minlength=size)
        tf = saturation(counts.data, of_row, float(lengths.mean()), k1, b)
        weights, shares = counts.copy(), counts.copy()
        weights.data = tf * idf(frequencies, len(lengths))[counts.indices]
        shares.data = counts.data / of_row
        return cls(weights.T.tocsr(), shares)

    def search(self, terms: NDArray[np.integer], weights: NDArray[np.floating]) -> "Found":
        """Return the first documents for weighted terms, best first."""
        scores = np.asarray(self.weights[terms].T @ weights.astype(np.float32)).ravel()
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        best = best[scores[best] > 0]
        return Found(best, scores[best])


class Found(NamedTuple):
    """Documents and their scores, best first."""

    documents: NDArray[np.integer]
    scores: NDArray[np.floating]


def rm3(
    index: Index, terms: NDArray[np.integer], found: Found, setting: tuple[int, int, float]
) -> Found:
    """Return what BM25 finds with a query's terms and those of its first documents.

    The weight of a term is λ · its share of the query + (1 − λ) · P(w | R), where P(w | R) is the
    mean of its shares of the first documents, weighted by their scores.
    """
    documents, most, own_share = setting
    first = found.documents[:documents]
    if not len(first):
        return found
    weights = found.scores[: len(first)] / found.scores[: len(first)].sum()
    model = np.asarray(index.shares[first].T @ weights).ravel()
    expanded = np.argsort(-model, kind="stable")[:most]
    mixed = np.zeros(len(model))
    mixed[expanded] = (1 - own_share) * model[expanded] / model[expanded].sum()
    np.add.at(mixed, terms, own_share / len(terms))
    used = np.flatnonzero(mixed)
    return index.search(used, mixed[used])


def run(place: Place) -> str:
    """Compare BM25 with and without feedback on each collection."""
    rows = [row for each in COLLECTIONS for row in _rows(place, *each)]
    head = ["collection", "queries", "measure", "BM25", "with RM3", "difference (95 %)", "p"]
    head += ["documents, terms, share of the query"]
    return f"""
{table(head, rows)}

The settings have the highest nDCG@10 on {TUNED_ON} queries of train. p is of a two-sided paired \
t-test. medquad is without titles.
"""


def _rows(
    place: Place, name: str, titles: bool, k1: float, b: float, split: str
) -> list[list[str]]:
    collection = place.collection(name)
    analysed = analyse(
        collection.documents(), [FIELD], titles=titles, options=WORDS
    )  # fmt: skip
    index = Index.of(analysed, k1, b)
    tuned = _measured(analysed, index, read_split(collection, "train", limit=TUNED_ON))
    best = max(GRID, key=lambda each: float(tuned[each]["nDCG@10"].mean()))
    queries = read_split(collection, split, limit=REPORTED)
    values = _measured(analysed, index, queries, (best,))
    rows = []
    for measure in MEASURES:
        plain, fed = values[None][measure], values[best][measure]
        rows.append([
            name, f"{len(queries):,}", measure, f"{plain.mean():.3f}", f"{fed.mean():.3f}",
            interval(fed, plain), f"{paired_t_test(fed, plain):.2g}",
            f"{best[0]}, {best[1]}, {best[2]:g}",
        ])  # fmt: skip
    return rows


def _measured(
    analysed: AnalysedCollection,
    index: Index,
    queries: Sequence[JudgedQuery],
    settings: Sequence[tuple[int, int, float]] = GRID,
) -> dict[tuple[int, int, float] | None, dict[str, NDArray[np.float64]]]:
    """Return the value of each query by setting, None for BM25 alone, and measure."""
    ids, wanted = list(analysed.documents.ids), {name: parse_ranked(name) for name in MEASURES}
    values = {
        each: {name: np.zeros(len(queries)) for name in MEASURES} for each in (None, *settings)
    }
    for row, query in enumerate(queries):
        terms = analysed.analyzer.begin().asked(query.text, FIELD).astype(np.int64)
        terms = terms[terms < index.shares.shape[1]]
        found = index.search(*np.unique(terms, return_counts=True))
        for each in values:
            ranked = found if each is None else rm3(index, terms, found, each)
            grades = np.array([query.relevant.get(ids[at], 0) for at in ranked.documents], float)
            relevant = np.sort(np.array([*query.relevant.values()], float))[::-1]
            for name, measure in wanted.items():
                values[each][name][row] = measure.value(grades, relevant)
    return values
