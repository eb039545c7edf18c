"""Whether what a training adds is a matter of its seed.

`all_systems` and `own_encoders` train once. Here some of their networks are trained with three
seeds, and each seed has its own export, index and fusions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import PREFIX, Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID, HYBRID_RANKER, RERANKED
from benchmarks.all_systems.rankers import RANKERS, ndrm3, neural_model1, own_dense
from benchmarks.all_systems.studies import BM25, HARD, STUDIES, Reads, Study
from benchmarks.all_systems.tables import chosen_each
from benchmarks.dense.dense_training import PASSAGES
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.evaluation.significance import holm, paired_t_test

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers", "gensim", "simplemma")
SEEDS = (0, 1, 2)
NAME = "seeds"
OWN, NEURAL, NDRM3, START = (
    RANKERS[name].label for name in ("own", "neural_model1", "ndrm3", "minilm")
)


class Case(NamedTuple):
    """A collection, and what is trained for it with each seed.

    Attributes:
        name: of the study.
        study: its collection and queries.
        seeded: rankers of `all_systems`, by name, and what trains each with a seed.
        against: the systems that are shown, and what each is compared with.
    """

    name: str
    study: Study
    seeded: Mapping[str, Callable[..., Checkpoint]]
    against: Mapping[str, str]

    def base(self, place: Place) -> Scope:
        """Return what is measured without any of these trainings."""
        return self._scope(place, (BM25, HYBRID_RANKER), NAME, NAME)

    def scope(self, place: Place, seed: int) -> Scope:
        """Return what is measured with a seed: next to its trainings BM25 and Model 1.

        The first seed is that of `all_systems`, so what it has of the same passages is shared.
        """
        own = f"{NAME}-{seed}"
        shared = seed == SEEDS[0] and self.study == STUDIES[self.name]
        plain = self._scope(place, (BM25, "model1"), own, PREFIX if shared else own)
        trained = {
            name: replace(RANKERS[name], learn=partial(learn, seed=seed))
            for name, learn in self.seeded.items()
        }
        return replace(plain, rankers={**plain.rankers, **trained})

    def _scope(self, place: Place, names: Sequence[str], name: str, parts: str) -> Scope:
        used = {each: RANKERS[each] for each in names}
        return Scope(place, {self.name: self.study}, used, name=name, parts=parts)


FUSED = {BEST[Reads.QUERY]: HYBRID}
GOOGLE_WIKI = Case(
    "google-wiki",
    replace(STUDIES["google-wiki"], passages=PASSAGES, queries=1_000),  # all of dev
    {"own": own_dense},
    {f"{OWN} retrieves": f"{START} retrieves", **FUSED},
)
MEDQUAD = Case(
    HARD,
    STUDIES[HARD],
    {"neural_model1": neural_model1, "ndrm3": ndrm3, "own": own_dense},
    {
        f"{NEURAL} on BM25's first {RERANKED}": BASE,
        f"{NDRM3} retrieves": BASE,
        BEST[Reads.NOTHING]: BASE,
        f"{OWN} retrieves": f"{START} retrieves",
        **FUSED,
    },
)
CASES = (GOOGLE_WIKI, MEDQUAD)


class Measured(NamedTuple):
    """What was measured of a case.

    Attributes:
        base: BM25, the untrained encoder and their hybrid.
        seeds: by seed, what was measured with it.
    """

    base: Studied
    seeds: Mapping[int, Studied]


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    return section([(each, measured(place, each)) for each in CASES])


def measured(place: Place, case: Case, seeds: Sequence[int] = SEEDS) -> Measured:
    """Return what is measured of a case."""
    base = studied(case.base(place), case.name, fused=False)
    return Measured(base, {seed: studied(case.scope(place, seed), case.name) for seed in seeds})


def section(found: Sequence[tuple[Case, Measured]]) -> str:
    """Return the tables of the cases."""
    parts = "\n\n".join(part(case, each) for case, each in found)
    return f"""
Networks are those of `all_systems`, trained anew with each seed, exported, indexed and served in \
8 bits. *{BEST[Reads.NOTHING]}* and *{BEST[Reads.QUERY]}* are fusions of them with BM25 and Model \
1, without static light vectors, so the former is below that of `all_systems`. Members and weights \
are chosen on held-out queries of train for each seed. *Mean* is that of the seeds' values of each \
query, so its test is of the training and not of one network. Two-sided paired t-tests, Holm's \
correction in each table; intervals of 95 %, of the mean.

{parts}
"""


def part(case: Case, found: Measured) -> str:
    """Return the tables of a case."""
    base, seeds = found
    fused = [name for name in case.against if name in BEST.values()]
    told = [
        [name, *row]
        for name in fused
        for row in chosen_each({str(seed): each for seed, each in seeds.items()}, name)
    ]
    means = "; ".join(
        f"{name} {base.values[name][RANKED_BY].mean():.4f}"
        for name in dict.fromkeys(case.against.values())
    )
    return f"""### {case.name}: {base.passages:,} passages, {base.queries:,} queries of \
{case.study.split}, {base.held_out} held out

{RANKED_BY}: {means}.

{by_seed(found, case.against)}

{table(["system", "seed", "chosen"], told)}"""


def by_seed(found: Measured, against: Mapping[str, str]) -> str:
    """Return a row per system: each seed, and the mean of all next to what it is compared with."""
    values: dict[str, NDArray[np.float64]] = {
        name: np.array([each.values[name][RANKED_BY] for each in found.seeds.values()])
        for name in against
    }  # (seeds, queries) each
    bases = {name: found.base.values[base][RANKED_BY] for name, base in against.items()}
    means = {name: own.mean(axis=0) for name, own in values.items()}
    corrected = holm([paired_t_test(means[name], bases[name]) for name in against])
    rows = []
    for (name, base), p in zip(against.items(), corrected, strict=True):
        alone = [paired_t_test(own, bases[name]) for own in values[name]]
        rows.append(
            [
                name,
                *(f"{own.mean():.4f}" for own in values[name]),
                f"{means[name].mean():.4f}",
                base,
                f"{shown(difference(means[name], bases[name]))}, p = {p:.2g}",
                f"{max(alone):.2g}",
            ]
        )
    head = ["system", *(f"seed {seed}" for seed in found.seeds), "mean", "compared with"]
    return table([*head, "mean − that", "largest p of a seed, not corrected"], rows)
