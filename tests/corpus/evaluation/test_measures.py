import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.evaluation.measures import Judged, Measure, mean, parse_measure, per_query
from ranklet.runtime.ground.errors import InputError


def random_judged(seed: int, queries: int = 30, missed: bool = True) -> Judged:
    """Queries with 1 to 60 candidates of grades 0 to 3, two features and no ties."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 61, queries)
    rows = [rng.standard_normal((length, 2)) for length in lengths]
    grades = [rng.choice(4, length, p=[0.8, 0.1, 0.05, 0.05]) for length in lengths]
    lost = [rng.integers(0, 4, rng.integers(0, 4)) for _ in lengths]
    return Judged.from_lists(rows, grades, lost if missed else None)


def by_ir_measures(judged: Judged, scores: NDArray[np.floating], measure: str) -> list[float]:
    import ir_measures

    grades = np.zeros(judged.mask.shape, int)
    grades[judged.relevant_query, judged.relevant_column] = judged.relevant_grade
    run, qrels = [], []
    for query, row in enumerate(judged.mask):
        for column in np.flatnonzero(row):
            name = f"d{column}"
            run.append(ir_measures.ScoredDoc(str(query), name, float(scores[query, column])))
            qrels.append(ir_measures.Qrel(str(query), name, int(grades[query, column])))
        # The relevant documents that are no candidates: what the ideal has and the row has not.
        lost = sorted(judged.ideal_grades[query][judged.ideal_grades[query] > 0].tolist())
        for grade in grades[query][grades[query] > 0]:
            lost.remove(grade)
        qrels += [ir_measures.Qrel(str(query), f"m{i}", int(g)) for i, g in enumerate(lost)]
    asked = ir_measures.parse_measure(measure.replace("MRR", "RR"))
    values = {m.query_id: m.value for m in ir_measures.iter_calc([asked], qrels, run)}
    return [values[str(query)] for query in range(len(judged.mask))]


@pytest.mark.parametrize(
    "measure", ["MRR@1", "MRR@10", "nDCG@5", "nDCG@10", "nDCG@1000", "R@1", "R@20"]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_parity_with_ir_measures(measure: str, seed: int) -> None:
    judged = random_judged(seed)
    scores = judged.scores(np.array([0.7, 0.3]))
    ours = per_query(judged, scores, parse_measure(measure))
    assert ours == pytest.approx(by_ir_measures(judged, scores, measure), abs=1e-9)
    assert mean(judged, scores, parse_measure(measure)) == pytest.approx(ours.mean())


def test_of_equal_scores_the_lower_column_comes_first() -> None:
    judged = Judged.from_lists([np.zeros((4, 1))], [np.array([0, 1, 0, 2])])
    assert judged.first_relevant_rank(np.zeros((1, 4))).tolist() == [2, 4]
    assert judged.first_relevant_rank(np.array([[0.0, 1.0, 1.0, 2.0]])).tolist() == [2, 1]


def test_a_query_without_relevant_documents_has_zero() -> None:
    judged = Judged.from_lists([np.zeros((2, 1)), np.empty((0, 1))], [np.zeros(2), np.empty(0)])
    for measure in ("MRR@10", "nDCG@10", "R@10"):
        assert per_query(judged, np.zeros((2, 2)), parse_measure(measure)).tolist() == [0, 0]


def test_missed_documents_lower_the_value() -> None:
    row, grade = [np.zeros((1, 1))], [np.array([1])]
    all_there, one_missed = Judged.from_lists(row, grade), Judged.from_lists(row, grade, grade)
    zero = np.zeros((1, 1))
    for measure in ("nDCG@10", "R@10"):
        assert mean(all_there, zero, parse_measure(measure)) == 1
        assert mean(one_missed, zero, parse_measure(measure)) < 1
    assert mean(one_missed, zero, parse_measure("nDCG@1")) == 1  # no more than one fits


def test_parse_measure() -> None:
    assert parse_measure("nDCG@10") == Measure("nDCG", 10)


@pytest.mark.parametrize(
    "text", ["MAP@10", "mrr@10", "MRR", "MRR@0", "R@-1", "R@1.5", "", "nDCG@10 "]
)
def test_parse_measure_says_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match="MRR@k, nDCG@k and R@k"):
        parse_measure(text)


def test_a_feature_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InputError, match="finite"):
        Judged.from_lists([np.full((1, 1), np.inf)], [np.zeros(1)])
