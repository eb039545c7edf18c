"""How long Model 1 takes to rescore 1,000 documents, on one thread, part by part.

The parts add up: *gather* reads the documents' tokens from the forward store, *+ likelihoods* also
looks up and adds their translations, *+ logarithms* is all of ``Model1.score``.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.built.bundles import google_wiki_model1, medquad
from benchmarks.built.peers import opened, retriever_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import spread, take_turns
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.model1 import translation_likelihoods
from ranklet.runtime.rankers.model1 import Model1
from ranklet.training.data.splits import JudgedQuery, read_split

PACKAGES = ()
DEPTH, ROUNDS, QUERIES = 1000, 3, 300
WHOLE = "+ logarithms"
MOST = 1.0  # ms for 1,000 passages, the design's goal
PASSAGE = 65  # tokens; google-wiki's documents are passages, medquad's are up to six times as long


COLLECTIONS = ("google-wiki", "medquad")


class Asked(NamedTuple):
    """A query with its candidates, BM25's best."""

    query: QueryContext
    candidates: StoredCandidates


def run(place: Place) -> str:
    """Time the parts on a collection of passages and on one of longer documents."""
    wiki, answers = google_wiki_model1(place), medquad(place)
    queries = {
        name: read_split(place.collection(name), "dev", limit=QUERIES) for name in COLLECTIONS
    }
    rows, means = [], {}
    for name, path, first, ranker in (
        ("google-wiki", wiki, "bm25", "model1"),
        ("medquad", answers, "bm25-lemmas", "model1-words"),
        ("medquad", answers, "bm25-lemmas", "model1-wordpieces"),
    ):
        found, means[ranker] = _rows(path, first, ranker, queries[name])
        rows += [[f"{name}, {label}", *cells] for label, *cells in found]
    head = ["", "tokens a document", "tokens a query", "pairs a query", "p50 ms", "mean", "p99"]
    words = means["model1-words"]
    return f"""
{QUERIES} dev queries of each collection at most, those with {DEPTH:,} candidates; a query's \
figure is its median of {ROUNDS} rounds. *Pairs* are the entries of the translation table in the \
rows of the query's tokens.

{table(head, rows)}

{goal(f"{DEPTH:,} passages rescored (google-wiki, mean)", means["model1"][0], MOST)}
- medquad's documents are no passages. For as many tokens as google-wiki's 1,000 passages have, \
Model 1 over words takes {words[0] * PASSAGE / words[1]:.2f} ms there, though its table is denser: \
narrow language, in which most tokens of a document translate into a token of the query.
"""


def _rows(
    path: Path, first: str, name: str, queries: list[JudgedQuery]
) -> tuple[list[list[str]], tuple[float, float]]:
    """Return a row a part; and the mean ms of the whole, and tokens a document."""
    bundle = opened(path)
    retriever, ranker = retriever_of(bundle, first), bundle.ranker(name)
    if not isinstance(ranker, Model1) or bundle.documents is None:
        raise TypeError(f"{name} is {ranker!r}")
    field, table_, p_self = ranker.settings.field, ranker.table, ranker.settings.p_self
    asked = []
    for each in queries:
        query = QueryContext(each.text, bundle.analyzer.begin())
        numbers = retriever.retrieve(query, DEPTH).numbers
        if len(numbers) == DEPTH:
            asked.append(Asked(query, StoredCandidates(bundle.documents, numbers)))
    ms = take_turns(
        {
            "gather": lambda q: q.candidates.tokens(field),
            "+ likelihoods": lambda q: translation_likelihoods(
                q.query.tokens(field), table_, p_self, q.candidates.tokens(field)
            ),
            WHOLE: lambda q: ranker.score(q.query, q.candidates),
        },
        asked,
        ROUNDS,
    )
    length = float(np.mean([len(q.candidates.tokens(field).tokens) / DEPTH for q in asked]))
    terms = np.mean([len(q.query.tokens(field)) for q in asked])
    pairs = np.mean(
        [sum(len(table_.row(t)[0]) for t in q.query.tokens(field).tolist()) for q in asked]
    )
    about = [f"{length:.0f}", f"{terms:.1f}", f"{pairs:,.0f}"]
    rows = [
        [f"{field}: {part}", *(about if part == "gather" else ["", "", ""]), *spread(times)]
        for part, times in ms.items()
    ]
    return rows, (float(ms[WHOLE].mean()), length)
