"""What training adds to an encoder that anyone can download: alone, and fused with BM25.

MiniLM-L6 as it comes, trained on qa-mix, and the average of both networks, all in 8 bits as they
are served, on every collection. Members and weights of a fusion are chosen on held-out queries of
train.
"""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, STRICT, Studied, verdict
from benchmarks.all_systems.measuring import all_studies
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID
from benchmarks.all_systems.rankers import DENSE_WAY, RANKERS
from benchmarks.all_systems.studies import BM25, HARD, QA_MIX, STUDIES, Ranker, Reads, Study
from benchmarks.all_systems.tables import chosen, last_against, quality
from benchmarks.built import dense
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.evaluation.significance import compare

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
# Of .25, .5 and .75 the share with the highest mean over 400 queries of train of each collection.
KEPT_START = 0.25
PASSAGES, QUERIES = 10_000, 500  # of a collection, at most
NAME = "dense-training"
FUSED = BEST[Reads.QUERY]


def averaged(place: Place, _: Study) -> Checkpoint:
    """Return the trained MiniLM with a share of the weights that it had before."""
    return dense.averaged(place, DENSE_WAY, KEPT_START)


USED = {name: RANKERS[name] for name in (BM25, "minilm", "dense")} | {
    "averaged": Ranker(
        "dense", "MiniLM averaged", averaged, QA_MIX, Reads.QUERY, dense.CODE, encodes=True
    )
}
START, TRAINED, AVERAGED = (f"{USED[name].label} retrieves" for name in list(USED)[1:])


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    return section(all_studies(scope(place)))


def scope(place: Place) -> Scope:
    """Return what is measured."""
    studies = {
        name: replace(each, passages=PASSAGES, queries=QUERIES) for name, each in STUDIES.items()
    }
    return Scope(place, studies, USED, name=NAME, parts=NAME)


def section(found: Mapping[str, Studied]) -> str:
    """Return the tables and the goals."""
    parts = [
        f"### {study}: {each.passages:,} passages, {each.queries} queries\n\n{quality(each)}"
        for study, each in found.items()
    ]
    return f"""
{dense.STEPS} steps of 32 queries of qa-mix with negatives that the encoder finds itself. All \
networks have 8 bits. Each collection is cut to about {PASSAGES:,} passages, so figures are higher \
than on whole collections; scifact is whole, and its queries are those of its test. *MiniLM \
averaged* has {KEPT_START:.0%} of the weights of the start and {1 - KEPT_START:.0%} of the trained \
ones, as by `ranklet train dense --keep-start {KEPT_START}`. The share was chosen on queries of \
train.

{chr(10).join(goals(found))}

What averaging changes, {RANKED_BY} of retrieving:

{averaging(found)}

† p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction in each column).

Against BM25: † p < .05, ‡ p < .01; the chosen fusion against *{HYBRID}*: * p < .05, ** p < .01; − \
says that it is below (two-sided paired t-tests, Holm's correction in each family). Intervals are \
95 %.

{chosen(found)}

{(chr(10) * 2).join(parts)}
"""


def averaging(found: Mapping[str, Studied]) -> str:
    """Return a row per collection: untrained, trained and averaged, and both differences."""
    head = ["collection", "untrained", "trained", "averaged", "− untrained", "− trained"]
    return table(head, last_against(found, (START, TRAINED, AVERAGED)))


def goals(found: Mapping[str, Studied]) -> list[str]:
    """Return a line for each goal, met or missed."""
    wanted = (
        *((study, TRAINED, START) for study in (QA_MIX, "medquad", HARD)),
        (QA_MIX, TRAINED, BASE),
        *((QA_MIX, FUSED, other) for other in (TRAINED, BASE, HYBRID)),
    )
    lines = []
    for study, first, second in wanted:
        if study not in found:
            continue
        values = {name: found[study].values[name][RANKED_BY] for name in (first, second)}
        (test,) = compare(values, pairs=[(first, second)])
        met = test.difference >= 0 and (test.p < STRICT or second == BASE)
        lines.append(
            f"- Goal: {study}, *{first}* "
            f"{f'at least *{second}*' if second == BASE else f'above *{second}*, p < .01'}: "
            f"{shown(difference(values[first], values[second]))}, p = {test.p:.2g}, {verdict(met)}."
        )
    return lines
