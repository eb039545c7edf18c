"""What a dense encoder gains from judged queries: those of qa-mix, or a collection's own.

MiniLM-L6 as it comes, trained on qa-mix, and trained on the collection's own queries of train with
several seeds. Each seed has its own export, index and fusion. All networks have 8 bits as they are
served. On debian-packages nothing was ever chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied
from benchmarks.all_systems.measuring import answers_seen, studied
from benchmarks.all_systems.pipelines import BEST, HYBRID, HYBRID_RANKER
from benchmarks.all_systems.rankers import RANKERS, own_dense
from benchmarks.all_systems.studies import BM25, STUDIES, Reads, Study
from benchmarks.all_systems.tables import chosen_each, gains, remembered
from benchmarks.built.trained import DENSE, OWN_DENSE
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.evaluation.significance import holm, interval, paired_t_test

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
SEEDS = (0, 1, 2)
NAME, UNSEEN = "own-encoders", "debian-packages"
COLLECTIONS = {
    **{name: each for name, each in STUDIES.items() if each.encoder == name},
    # A query is the line with which a package's author sums it up: titles that find their texts.
    UNSEEN: Study(UNSEEN, encoder=UNSEEN, passages=10_000, queries=1_000),
}
START, QA_MIX, OWN = (f"{RANKERS[name].label} retrieves" for name in ("minilm", "dense", "own"))
FUSED = BEST[Reads.QUERY]
AGAINST = {OWN: START, FUSED: HYBRID}


class Measured(NamedTuple):
    """What was measured of a collection.

    Attributes:
        base: BM25, the untrained encoder, that of qa-mix, and the untrained hybrid.
        seeds: by seed, BM25, Model 1, the collection's own encoder, and the best fusion.
        known: which queries share a relevant document with those that were learned from.
    """

    base: Studied
    seeds: Mapping[int, Studied]
    known: NDArray[np.bool_]


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    return section({name: measured(place, name, each) for name, each in COLLECTIONS.items()})


def measured(place: Place, name: str, study: Study, seeds: Sequence[int] = SEEDS) -> Measured:
    """Return what is measured of a collection."""
    base = _scope(place, name, study, (BM25, HYBRID_RANKER, "dense"), NAME)
    return Measured(
        studied(base, name, fused=False),
        {seed: studied(seeded(place, name, study, seed), name) for seed in seeds},
        answers_seen(base, name),
    )


def seeded(place: Place, name: str, study: Study, seed: int) -> Scope:
    """Return what is measured with the encoder of a seed."""
    plain = _scope(place, name, study, (BM25, "model1"), f"{NAME}-{seed}")
    own = replace(RANKERS["own"], learn=partial(own_dense, seed=seed))
    return replace(plain, rankers={**plain.rankers, "own": own})


def _scope(place: Place, name: str, study: Study, rankers: Sequence[str], parts: str) -> Scope:
    used = {each: RANKERS[each] for each in rankers}
    return Scope(place, {name: study}, used, name=parts, parts=parts)


def section(found: Mapping[str, Measured]) -> str:
    """Return the tables of all collections."""
    first = {name: _together(each) for name, each in found.items()}
    known = {name: each.known for name, each in found.items()}
    told = [
        [name, *row]
        for name, each in found.items()
        for row in chosen_each({str(seed): own for seed, own in each.seeds.items()}, FUSED)
    ]
    lengths = "; ".join(f"{name} {_length(own)}" for name, own in OWN_DENSE.items())
    return f"""
*{RANKERS["own"].label}* learns from the collection's train, 32 queries in a step, with negatives \
that it finds itself ({lengths}); *of qa-mix* from {DENSE["steps"]} such steps of qa-mix. The \
first table has seed {min(next(iter(found.values())).seeds)}.

{gains(first, (START, QA_MIX, OWN))}

† p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction in each column).

*{FUSED}* is a fusion with BM25 and Model 1, whose members and weights are chosen on held-out \
queries of train for each seed. *Mean* is that of the seeds' values of each query, so its test is \
over queries, and the seeds are not in its error.

{by_seed(found)}

What a ranker learned may be remembered answers, so queries count apart whose relevant documents \
no query that was learned from shares:

{remembered(first, known)}

{table(["collection", "seed", "chosen"], told)}

Collections that are cut keep what is relevant, so their figures are higher than on all of it. \
Passages: {"; ".join(f"{name} {each.base.passages:,}" for name, each in found.items())}. Two-sided \
paired t-tests, intervals of 95 %.
"""


def by_seed(found: Mapping[str, Measured]) -> str:
    """Return a row per collection and system: its seeds, and their mean next to its base."""
    rows, tested = [], []
    for name, each in found.items():
        for system, base in AGAINST.items():
            own = [seed.values[system][RANKED_BY] for seed in each.seeds.values()]
            mean, other = np.mean(own, axis=0), each.base.values[base][RANKED_BY]
            tested.append(paired_t_test(mean, other))
            alone = max(paired_t_test(values, other) for values in own)
            means = [f"{values.mean():.4f}" for values in (*own, mean)]
            gain = str(interval(mean, other))
            rows.append([name, system, *means, base, f"{other.mean():.4f}", gain, f"{alone:.2g}"])
    for row, p in zip(rows, holm(tested), strict=True):
        row[-2] += f", p = {p:.2g}"
    seeds = [f"seed {seed}" for seed in next(iter(found.values())).seeds]
    head = ["collection", "system", *seeds, "mean", "base", "its value", "mean − base"]
    return table([*head, "largest p of a seed, not corrected"], rows)


def _together(found: Measured) -> Studied:
    """Return the base with the systems of the first seed."""
    base, own = found.base, next(iter(found.seeds.values()))
    return own._replace(values={**base.values, **own.values})


def _length(own: Mapping[str, int]) -> str:
    steps, tokens = own.get("steps", DENSE["steps"]), own["max_document_tokens"]
    return f"{steps} steps, {tokens} tokens of a document"
