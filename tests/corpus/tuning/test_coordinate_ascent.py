import numpy as np
import pytest

from ranklet.corpus.evaluation.measures import Judged, mean, parse_measure
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent
from ranklet.runtime.ground.errors import InputError


def judged_by(weights: list[float], seed: int = 0, noise: float = 0.0, queries: int = 40) -> Judged:
    """Queries whose one relevant document, of 30, is the one that `weights` rank first."""
    rng = np.random.default_rng(seed)
    rows, grades = [], []
    for _ in range(queries):
        row = rng.standard_normal((30, len(weights)))
        score = row @ np.array(weights) + noise * rng.standard_normal(30)
        grade = np.zeros(30)
        grade[score.argmax()] = 1
        rows.append(row)
        grades.append(grade)
    return Judged.from_lists(rows, grades)


@pytest.mark.parametrize("measure", ["MRR@10", "nDCG@10", "R@1"])
def test_tuning_finds_weights_that_rank_everything_correctly(measure: str) -> None:
    found = coordinate_ascent(judged_by([0.7, 0.2, 0.1]), measure)
    assert found.value > 0.95
    assert found.weights == pytest.approx([0.7, 0.2, 0.1], abs=0.1)


def test_tuning_finds_the_scale_of_a_feature() -> None:
    judged = judged_by([1.0, 1000.0])
    judged = Judged.from_lists(
        [row * np.array([1.0, 1e-3]) for row in judged.features.astype(float)],
        [np.eye(30)[column] for column in judged.relevant_column],
    )
    found = coordinate_ascent(judged)
    assert found.value > 0.95
    assert found.weights[1] > 0.99


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("restarts", [1, 3])
def test_is_never_worse_than_equal_weights_or_one_feature(seed: int, restarts: int) -> None:
    judged = judged_by([0.5, 0.3, 0.2], seed, noise=1.0)
    found = coordinate_ascent(judged, restarts=restarts)
    measure = parse_measure("MRR@10")
    for weights in (np.full(3, 1 / 3), *np.eye(3)):
        assert found.value >= mean(judged, judged.scores(weights), measure)
    assert found.value == mean(judged, judged.scores(np.array(found.weights)), measure)


def test_weights_are_normalised_and_not_negative() -> None:
    found = coordinate_ascent(judged_by([1.0, -0.5]))
    assert sum(map(abs, found.weights)) == pytest.approx(1)
    assert min(found.weights) >= 0


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(InputError, match="unknown measure"):
        coordinate_ascent(judged_by([1.0]), "MAP")
