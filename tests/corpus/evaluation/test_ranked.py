"""Measures of a ranked list, next to trec_eval's."""

import numpy as np
import pytest

from ranklet.corpus.evaluation.ranked import parse_ranked
from ranklet.runtime.ground.errors import InputError

MEASURES = (
    "nDCG", "nDCG@1", "nDCG@10", "RR", "RR@3", "AP", "AP@5", "R@1", "R@20", "P@1", "P@10",
    "Success@1", "Success@7",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_ir_measures(seed: int) -> None:
    measures = pytest.importorskip("ir_measures")
    rng = np.random.default_rng(seed)
    judged = {f"d{at}": int(rng.integers(0, 4)) for at in range(rng.integers(1, 30))} | {"d": 1}
    ranked = rng.permutation([f"d{at}" for at in range(40)])[: rng.integers(0, 40)].tolist()
    qrels = [measures.Qrel("q", name, grade) for name, grade in judged.items()]
    run = [measures.ScoredDoc("q", name, -float(at)) for at, name in enumerate(ranked)]
    grades = np.array([judged.get(name, 0) for name in ranked], float)
    relevant = np.sort([float(grade) for grade in judged.values() if grade])[::-1]
    for name in MEASURES:
        wanted = measures.calc_aggregate([measures.parse_measure(name)], qrels, run)
        ours = parse_ranked(name).value(grades, relevant)
        assert ours == pytest.approx(next(iter(wanted.values())), abs=1e-9), name


@pytest.mark.parametrize(
    "text",
    ["", "XYZ@10", "nDCG@", "nDCG@0", "ndcg@10", "R", "P", "AP(rel=2)", "R@9999999", "R@1\n"],
)
def test_what_is_no_measure_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the measures are nDCG@k, MRR@k"):
        parse_ranked(text)
