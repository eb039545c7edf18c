"""What tuning works on: candidates of judged queries, retrieved by the classes that will serve."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.pipeline.candidates import Candidates, StoredCandidates
from ranklet.runtime.rankers.protocol import QueryContext, Ranker
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.measures import Judged
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

# Scores of a query's candidates by feature, (candidates, features) float32.
Features = Callable[[QueryContext, Candidates], NDArray[np.float32]]


def grades(
    analysed: AnalysedCollection, query: JudgedQuery, candidates: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the grade of each candidate, and the grades of relevant documents that are none.

    A relevant document that the collection does not have is relevant all the same: it is missed.
    """
    place = {number: at for at, number in enumerate(candidates.tolist())}
    found, missed = np.zeros(len(candidates), np.int64), []
    for name, grade in query.relevant.items():
        try:
            at = place.get(analysed.documents.number(name))
        except InputError:
            at = None
        if at is None:
            missed.append(grade)
        else:
            found[at] = grade
    return found, np.array(missed, np.int64)


def judge(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    retriever: Ranker,
    k: int,
    features: Features,
    label: str | None,
) -> Judged:
    """Retrieve each query's k best documents and compute features of them.

    Args:
        analysed: the collection.
        queries: judged ones.
        retriever: gives the candidates, best first.
        k: how many.
        features: computes what is tuned on.
        label: of the progress bar; None for no bar.
    """
    rows, found, missed = [], [], []
    for judged_query in progress(queries, label) if label else queries:
        query = QueryContext(judged_query.text, analysed.analyzer.begin())
        numbers, _ = retriever.retrieve(query, k)
        hit, lost = grades(analysed, judged_query, numbers)
        rows.append(features(query, StoredCandidates(analysed.documents, numbers)))
        found.append(hit)
        missed.append(lost)
    return Judged.from_lists(rows, found, missed)
