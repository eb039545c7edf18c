"""The title as a field of its own weight (BM25F), next to words of titles that count twice.

The weight is chosen on queries of train, and dev is reported, or test where there is one. Packages
of Debian have no titles, so their names are the field, next to none.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import measure_run
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.workflows.build_options import BUILD

PACKAGES = ("numpy",)
NAMES = ("medquad", "qa-mix", "scifact", "google-wiki", "debian-packages")
WEIGHTS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
MEASURE, DEPTH, QUERIES = "nDCG@10", 10, 2000
NAME = "name"  # of a package, as a field


def run(place: Place) -> str:
    """Choose a weight for each collection and compare both ways."""
    rows = [_row(place, name) for name in NAMES]
    head = ["collection, queries", "as it is", "as a field", "weight", "difference", "p"]
    return f"""
{table(head, rows)}

Each is nDCG@10 of BM25. p is of a two-sided paired t-test.
"""


def _row(place: Place, name: str) -> list[str]:
    collection = place.collection(name)
    titled = name != "debian-packages"
    field = "title" if titled else NAME
    documents = (_document(each, titled) for each in collection.documents())
    columns = [] if titled else [NAME]
    analysed = analyse(documents, {"lemmas"}, keep_metadata=True, columns=columns)
    usual = replace(BUILD, titles=titled).bm25
    train, report = (
        read_split(collection, split) for split in ("train", "test" if name == "scifact" else "dev")
    )
    chosen = [train[at] for at in evenly(len(train), QUERIES)]
    fielded = {w: BM25Settings(fields={field: w}) for w in WEIGHTS}
    values = {w: _measured(analysed, each, chosen).mean() for w, each in fielded.items()}
    best = max(values, key=lambda weight: values[weight])
    ours, before = (_measured(analysed, each, report) for each in (fielded[best], usual))
    (found,) = compare({"field": ours, "usual": before}, pairs=[("field", "usual")])
    return [
        f"{name}, {len(report):,}", f"{before.mean():.3f}", f"{ours.mean():.3f}", f"{best:g}",
        f"{found.difference:+.3f}", f"{found.p:.4f}",
    ]  # fmt: skip


def _document(document: Document, titled: bool) -> Document:
    return document if titled else document._replace(metadata={NAME: document.id})


def _measured(
    analysed: AnalysedCollection, settings: BM25Settings, queries: list[JudgedQuery]
) -> NDArray[np.float64]:
    """Return the measure of each query, (queries,)."""
    ranker = open_bm25(settings, analysed.bm25_postings(settings))
    ids, hits = analysed.documents.ids, {}
    for query in queries:
        found = ranker.retrieve(QueryContext(query.text, analysed.analyzer.begin()), DEPTH)
        pairs = zip(found.numbers.tolist(), found.scores.tolist(), strict=True)
        hits[query.id] = [(ids[number], score) for number, score in pairs]
    return measure_run(queries, hits, [MEASURE])[MEASURE]
