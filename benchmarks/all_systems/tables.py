"""The tables: a summary of all collections, quality and costs."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.comparing import RANKED_BY, Cost, Studied, marks, pair_scores
from benchmarks.all_systems.pipelines import BASE, HYBRID
from benchmarks.all_systems.studies import Reads
from benchmarks.harness.report import table
from ranklet.corpus.evaluation.significance import holm, interval, paired_t_test
from ranklet.corpus.evaluation.systems import mark

RUNS = {Reads.NOTHING: "–", Reads.QUERY: "query", Reads.PAIRS: "pairs"}
AGAINST = {Reads.NOTHING: BASE, Reads.QUERY: HYBRID, Reads.PAIRS: BASE}  # of the goals


def summary(found: Mapping[str, Studied], costs: Mapping[str, Cost]) -> str:
    """Return one row per system: what networks read, a measure on each collection, and costs.

    Rows are in the order of the collection with the most systems, which has all of them.
    """
    most = max(found.values(), key=lambda each: len(each.systems))
    signs = {study: marks(each, RANKED_BY) for study, each in found.items()}
    rows = []
    for system in most.systems:
        row = [system.name, RUNS[system.reads]]
        row += [_mean(each, system.name, RANKED_BY, signs[study]) for study, each in found.items()]
        cost = costs.get(system.name)
        row += [f"{cost.p50:.2f}", f"{cost.mb:.0f}"] if cost else ["", ""]
        rows.append(row)
    return table(["system", "network reads", *found, "p50 ms", "MB"], rows)


def chosen(found: Mapping[str, Studied]) -> str:
    """Return what was chosen on each collection."""
    rows = [
        [study, system.name, system.told]
        for study, each in found.items()
        for system in each.systems
        if system.chosen
    ]
    return table(["collection", "system", "chosen on held-out queries of train"], rows)


def last_against(found: Mapping[str, Studied], systems: Sequence[str]) -> list[list[str]]:
    """Return a row per collection: the means of systems, and the last one less each of the others.

    Only queries that all of them have read count. Holm's correction is over the collections, for
    each of the others. Collections that lack one of the systems have no row.
    """
    values = {
        study: [each.values[name][RANKED_BY] for name in systems]
        for study, each in found.items()
        if each.values.keys() >= set(systems)
    }
    read = {study: ~np.isnan(each).any(axis=0) for study, each in values.items()}
    whole = {study: [own[read[study]] for own in each] for study, each in values.items()}
    rows = {study: [study, *(f"{own.mean():.4f}" for own in each)] for study, each in whole.items()}
    for at in range(len(systems) - 1):
        tested = [paired_t_test(each[-1], each[at]) for each in whole.values()]
        for (study, each), p in zip(whole.items(), holm(tested), strict=True):
            rows[study].append(f"{interval(each[-1], each[at])}{mark(p)}".strip())
    return list(rows.values())


def gains(found: Mapping[str, Studied], encoders: Sequence[str]) -> str:
    """Return a row per collection of an encoder untrained, of qa-mix and of its own queries."""
    head = [f"{RANKED_BY}, retrieving", "untrained", "of qa-mix", "of its own", "− untrained"]
    return table([*head, "− of qa-mix"], last_against(found, encoders))


def remembered(found: Mapping[str, Studied], known: Mapping[str, NDArray[np.bool_]]) -> str:
    """Return what chosen pipelines gain where no relevant document was learned from.

    Args:
        found: by collection.
        known: of each collection, which reported queries share a relevant document with those that
            were learned from, (queries,).
    """
    rows = []
    for study, each in found.items():
        for system in each.systems:
            base = AGAINST[system.reads]
            if not system.chosen or base not in each.values:
                continue
            own, other = (each.values[name][RANKED_BY] for name in (system.name, base))
            both = ~(np.isnan(own) | np.isnan(other))
            old, new = both & known[study], both & ~known[study]
            shared = f"{own[old].mean():.4f}" if old.any() else ""
            apart, gain = "", ""
            if new.sum() > 1:
                apart = f"{own[new].mean():.4f}"
                p = paired_t_test(own[new], other[new])
                gain = f"{interval(own[new], other[new])}, p = {p:.2g}"
            counts = f"{old.sum()}, {new.sum()}"
            rows.append([study, system.name, counts, shared, apart, gain, base])
    head = ["collection", "system", "queries: shared, new", f"{RANKED_BY}, shared", "new"]
    return table([*head, "new − base", "base"], rows)


def expenses(costs: Mapping[str, Cost]) -> str:
    """Return what the systems cost."""
    rows = [
        [
            name,
            f"{cost.p50:.2f}",
            f"{cost.p99:.2f}",
            f"{cost.mb:.1f}",
            f"{cost.memory:.0f}",
            f"{cost.start:.0f}",
            f"{cost.minutes:.1f}",
        ]
        for name, cost in costs.items()
    ]
    head = ["system", "p50 ms", "p99 ms", "MB", "memory MB", "first answer ms", "training minutes"]
    return table(head, rows)


def _mean(found: Studied, name: str, measure: str, signs: Mapping[str, str]) -> str:
    if name not in found.values:
        return ""
    own, base = pair_scores(found, name, BASE, measure)
    fewer = f" ({base.mean():.4f})" if len(own) < found.queries else ""
    return f"{own.mean():.4f}{signs[name]}{fewer}"
