"""Whether what an encoder gains from a collection's own queries is a matter of its seed.

`own_encoders` has one seed. On google-wiki its gain over the untrained hybrid is near its noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID, HYBRID_RANKER
from benchmarks.all_systems.rankers import LENGTHS, RANKERS
from benchmarks.all_systems.studies import BM25, STUDIES, Reads, Study
from benchmarks.all_systems.tables import chosen_each
from benchmarks.dense.dense_training import PASSAGES, START
from benchmarks.dense.own_encoders import LEARNED, ranker
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.evaluation.significance import paired_t_test

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
COLLECTION = "google-wiki"
STUDY: Study = replace(STUDIES[COLLECTION], passages=PASSAGES, queries=1_000)  # all of dev
SEEDS = (0, 1)
FUSED = BEST[Reads.QUERY]
NAME = "own-seeds"


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    base = studied(scope(place, (BM25, HYBRID_RANKER)), COLLECTION, fused=False)
    return section(base, {seed: studied(with_own(place, seed), COLLECTION) for seed in SEEDS})


def scope(place: Place, names: Sequence[str], name: str = NAME) -> Scope:
    """Return what is measured with some rankers of `all_systems`."""
    used = {each: RANKERS[each] for each in names}
    return Scope(place, {COLLECTION: STUDY}, used, name=name, parts=name)


def with_own(place: Place, seed: int) -> Scope:
    """Return what is measured with the encoder of a seed: next to it BM25 and Model 1."""
    lexical = scope(place, (BM25, "model1"), f"{NAME}-{seed}")
    return replace(lexical, rankers={**lexical.rankers, "own": ranker(seed)})


def section(base: Studied, found: Mapping[int, Studied]) -> str:
    """Return the table.

    Args:
        base: BM25, the untrained encoder and their hybrid.
        found: what was measured with each seed.
    """
    steps, tokens = LENGTHS[COLLECTION]
    names = (BASE, START, HYBRID)
    means = "; ".join(f"{name} {base.values[name][RANKED_BY].mean():.4f}" for name in names)
    told = chosen_each({str(seed): each for seed, each in found.items()}, FUSED)
    return f"""
{COLLECTION}, cut to about {PASSAGES:,} passages; all {base.queries} dev queries. MiniLM learns \
from queries of train as in `own_encoders`, {steps} steps and {tokens} tokens of a document, with \
each seed anew. It is served in 8 bits and fused with BM25, or with BM25 and Model 1. Which of the \
two, and the weights, is chosen on {base.held_out} held-out queries of train.

{RANKED_BY}: {means}.

{by_seed(base, found)}

The mean is of the seeds' values of each query, so its test is of the training and not of one \
network. Two-sided paired t-tests, not corrected, and intervals of 95 %.

{table(["seed", "chosen"], told)}
"""


def by_seed(base: Studied, found: Mapping[int, Studied]) -> str:
    """Return a row per seed, and one of their mean, next to the untrained encoder and hybrid."""
    systems = {LEARNED: START, FUSED: HYBRID}
    values: dict[str, list[NDArray[np.float64]]] = {
        str(seed): [each.values[name][RANKED_BY] for name in systems]
        for seed, each in found.items()
    }
    values["mean"] = list(np.mean(list(values.values()), axis=0))
    rows = []
    for seed, own in values.items():
        row = [seed]
        for each, other in zip(own, systems.values(), strict=True):
            untrained = base.values[other][RANKED_BY]
            p = paired_t_test(each, untrained)
            row += [f"{each.mean():.4f}", f"{shown(difference(each, untrained))}, p = {p:.2g}"]
        rows.append(row)
    head = ["seed", "retrieving alone", "− untrained", "fused", f"− *{HYBRID}*"]
    return table(head, rows)
