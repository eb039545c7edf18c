import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.corpus.tuning.judged_candidates import grades, judge
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings

QUERIES = [
    JudgedQuery("1", "knead dough", {"bread": 2, "elsewhere": 3}),
    JudgedQuery("2", "gnorp", {"tea": 1}),
    JudgedQuery("3", "bicycle chain", {"bicycle-chain": 1, "tea": 1}),
]


def test_grades_of_candidates_and_of_what_was_missed(analysed: AnalysedCollection) -> None:
    number = analysed.documents.number
    candidates = np.array([number("tea"), number("bread"), number("rice")], np.uint32)
    found, missed = grades(analysed, QUERIES[0], candidates)
    assert found.tolist() == [0, 2, 0]
    assert missed.tolist() == [3]  # a relevant document that the collection does not have
    found, missed = grades(analysed, QUERIES[2], candidates[1:])
    assert (found.tolist(), sorted(missed.tolist())) == ([0, 0], [1, 1])


def test_judging_retrieves_by_the_class_that_serves(analysed: AnalysedCollection) -> None:
    settings = BM25Settings("lemmas")
    ranker = open_bm25(settings, analysed.postings("lemmas"))

    def features(query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        scores = ranker.score(query, candidates).values
        stacked: NDArray[np.float32] = np.column_stack([scores, -scores])
        return stacked

    judged = judge(analysed, QUERIES, ranker, 5, features, "a test")
    assert judged.mask.sum(1)[1] == 0  # no document has a gnorp
    for row, asked in enumerate(QUERIES):
        query = QueryContext(asked.text, analysed.analyzer.begin())
        scores = ranker.retrieve(query, 5).scores
        assert judged.features[row, : len(scores), 0] == pytest.approx(scores, rel=1e-5)
        assert judged.features[row, : len(scores), 1] == pytest.approx(-scores, rel=1e-5)
    assert judged.first_relevant_rank(judged.features[:, :, 0]).tolist() == [1, 1]
    assert judged.ideal_grades.tolist() == [[3, 2], [1, 0], [1, 1]]
