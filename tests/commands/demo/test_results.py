import numpy as np
import pytest

from ranklet.commands.demo.questions import QUESTIONS
from ranklet.commands.demo.results import conclusion, results_table
from ranklet.training.evaluation.systems import Evaluation

NAMES = ("BM25", "two", "all three")
FOUND = {
    name: {question: 1 if at < right else None for at, question in enumerate(QUESTIONS)}
    for name, right in zip(NAMES, (20, 25, 36), strict=True)
}


def evaluations(*means: float) -> list[Evaluation]:
    noise = np.random.default_rng(0).normal(0, 0.01, 50)
    noise -= noise.mean()
    return [
        Evaluation(name, {"nDCG@10": mean + noise * at})
        for at, (name, mean) in enumerate(zip(NAMES, means, strict=True))
    ]


def test_the_table_has_a_line_per_system() -> None:
    lines = results_table(evaluations(0.4, 0.5, 0.6), FOUND).splitlines()
    assert len({len(line) for line in lines[2:]}) == 1
    assert lines[-1].split() == ["all", "three", "0.600", "36", "(90%)"]
    assert "50 test queries" in lines[0]


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        (0.6, "significantly raises"),
        (0.4, "significantly lowers"),
        (0.5, "does not significantly change"),
    ],
)
def test_the_conclusion_says_what_was_found(last: float, verdict: str) -> None:
    text = conclusion(evaluations(0.4, 0.5, last), FOUND)
    assert text.startswith(f"The last ranker {verdict} nDCG@10 on modules that no ranker had seen")
    assert text.endswith(
        "All three answer 36 of 40 questions among the first 3 hits, where BM25 alone answers 20."
    )
