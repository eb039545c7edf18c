"""MaxSim over a deeper gather: oracle and light vectors rescore BM25's first 1,000 of qa-mix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.light import ORACLE, candidate_scores, judged, learned
from benchmarks.built.token_vectors import DEPTH, Ranked, ranked
from benchmarks.harness.judging import values_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.late_interaction.light_quality import BM25, SYSTEMS
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.rankers.srm.training import network_of

PACKAGES = ("torch", "transformers")
COLLECTION, SPLIT, DEEP = "qa-mix", "dev", 1_000
MEASURES = ("MRR@10", "nDCG@10", "R@100")
NAMES = (
    "SRM-LCM, window 1", "SRM, K = 10", "SRM-K1-LCM", "SRM-K1", "H1: SRM-LCM, static, IDF",
)  # fmt: skip


def run(place: Place) -> str:
    """Score both gathers by every system, and compare."""
    found = judged(place, COLLECTION)
    deep = ranked(place, COLLECTION, DEEP)
    values: dict[str, dict[str, NDArray[np.float64]]] = {
        BM25: values_of(deep.queries, _names(deep, DEEP), deep.bm25, MEASURES)
    }
    for name in (ORACLE, *NAMES):
        model = None
        if name != ORACLE:
            model = network_of(read_checkpoint(learned(place, name, 0, SYSTEMS[name].changes)))
        scores = candidate_scores(found, deep.candidates, model)
        for depth in (DEPTH, DEEP):
            own = [each[:depth] for each in scores]  # candidates stand in BM25's order
            values[_row(name, depth)] = values_of(deep.queries, _names(deep, depth), own, MEASURES)
    return f"""
{COLLECTION} {SPLIT}, {len(deep.queries):,} queries, tuned BM25 gathers {DEPTH} or {DEEP:,} \
documents, and MaxSim orders them. Seed 0 of the systems of *light_quality*.

{table(["system", *MEASURES], _rows(values))}

† p < .05, ‡ p < .01 of {DEEP:,} against {DEPTH} documents by the same system (two-sided paired \
t-tests, Holm's correction for each measure). R@100 of {DEPTH} rescored documents is BM25's own.
"""


def _row(name: str, depth: int) -> str:
    return f"{name}: of {depth:,}"


def _names(deep: Ranked, depth: int) -> list[list[str]]:
    return [deep.names(each[:depth]) for each in deep.candidates]


def _rows(values: dict[str, dict[str, NDArray[np.float64]]]) -> list[list[Any]]:
    pairs = [(_row(name, DEEP), _row(name, DEPTH)) for name in (ORACLE, *NAMES)]
    signs = {}
    for measure in MEASURES:
        tested = compare({name: own[measure] for name, own in values.items()}, pairs=pairs)
        signs[measure] = {each.first: mark(each.p_holm).strip() for each in tested}
    return [
        [name, *(f"{own[m].mean():.4f}{signs[m].get(name, '')}" for m in MEASURES)]
        for name, own in values.items()
    ]
