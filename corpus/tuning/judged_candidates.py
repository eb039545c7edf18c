"""Retrieve candidates of judged queries for tuning, with the classes that also serve."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import Judged
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.progress import progress
from ranklet.runtime.call.candidates import Candidates, StoredCandidates
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import InputError

# Returns the features of a query's candidates, (candidates, features) float32.
Features = Callable[[QueryContext, Candidates], NDArray[np.float32]]


def grades(
    analysed: AnalysedCollection, query: JudgedQuery, candidates: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the grade of each candidate, and the grades of relevant documents not among them.

    A relevant document that is not in the collection counts as missed.
    """
    index_of = {number: index for index, number in enumerate(candidates.tolist())}
    candidate_grades, missed = np.zeros(len(candidates), np.int64), []
    for name, grade in query.relevant.items():
        try:
            index = index_of.get(analysed.documents.number(name))
        except InputError:
            index = None
        if index is None:
            missed.append(grade)
        else:
            candidate_grades[index] = grade
    return candidate_grades, np.array(missed, np.int64)


def judge(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    retriever: Retriever,
    k: int,
    features: Features,
    label: str,
) -> Judged:
    """Retrieve each query's k best documents and compute their features.

    Args:
        analysed: the collection.
        queries: judged queries.
        retriever: returns the candidates, best first.
        k: number of candidates per query.
        features: computes the features of a query's candidates.
        label: label of the progress bar.
    """
    feature_rows, grade_rows, missed_rows = [], [], []
    for judged_query in progress(queries, label):
        query = QueryContext(judged_query.text, analysed.analyzer.begin())
        numbers = retriever.retrieve(query, k).numbers
        candidate_grades, missed = grades(analysed, judged_query, numbers)
        feature_rows.append(features(query, StoredCandidates(analysed.documents, numbers)))
        grade_rows.append(candidate_grades)
        missed_rows.append(missed)
    return Judged.from_lists(feature_rows, grade_rows, missed_rows)


def read_judged_lists(
    queries: Sequence[JudgedQuery],
    found: Sequence[Sequence[str]],
    features: Sequence[NDArray[np.float32]],
) -> Judged:
    """Return candidates with their features and grades; relevant ones that lack count as missed.

    Args:
        queries: with their relevant documents.
        found: ids of each query's candidates.
        features: of each query's candidates, (candidates, features).
    """
    pairs = list(zip(queries, found, strict=True))
    return Judged.from_lists(
        features,
        [np.array([query.relevant.get(name, 0) for name in own]) for query, own in pairs],
        [
            np.array([grade for name, grade in query.relevant.items() if name not in set(own)])
            for query, own in pairs
        ],
    )
