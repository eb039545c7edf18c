import pytest
from tests.kinds import ROWS, TinyRankers

from ranklet.training.outcome import FEWEST_STEPS, shortcoming


@pytest.mark.parametrize(
    ("before", "after", "steps", "said"),
    [
        (0.5, 0.6, FEWEST_STEPS, ""),
        (0.5, 0.6, None, ""),
        (0.5, 0.6, FEWEST_STEPS - 1, f"made {FEWEST_STEPS - 1} steps, and"),
        (0.5, 0.6, 1, "made 1 step, and"),
        (0.5, 0.5, 300, "did not improve on its start, so the weights of the start were saved"),
        (0.5, 0.5, None, "better than BM25 alone; learn from more judged queries"),
        (1.0, 1.0, 300, "ranked perfectly before"),
        (-0.1, -0.2, 300, "did not improve"),
    ],
)
def test_what_a_training_lacks_is_said(
    before: float, after: float, steps: int | None, said: str
) -> None:
    found = shortcoming(before, after, steps)
    assert (said in found) if said else not found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_reports_its_measure_before_and_after_next_to_bm25(
    kind: str, tiny: TinyRankers
) -> None:
    settings = next(iter(ROWS[kind].rankers.values()))
    training = tiny.checkpoint(kind, **settings).training
    if "comparison" not in training:
        pytest.skip("the kind learns nothing")
    comparison = training["comparison"]
    assert 0 <= comparison["bm25"] <= 1
    assert comparison["queries"] == (32 if kind == "bm25" else 16)  # of train, of dev
    assert isinstance(training["warning"], str)
    assert training["documents"] == 48
    assert training["queries"] > 0
    if "evaluations" in training:
        values = [each["value"] for each in training["evaluations"]]
        assert (comparison["before"], comparison["after"]) == (values[0], max(values))
        assert bool(training["warning"]) == (
            training["steps"] < FEWEST_STEPS or max(values) == values[0]
        )
    else:
        assert comparison["before"] is None
        assert comparison["after"] == training["best"]
