"""What training adds to an encoder that anyone can download: alone, and fused with BM25.

MiniLM-L6 as it comes, and trained on qa-mix, both in 8 bits as they are served, on every
collection. Members and weights of a fusion are chosen on held-out queries of train.
"""

from collections.abc import Mapping

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, STRICT, Studied, verdict
from benchmarks.all_systems.measuring import all_studies
from benchmarks.all_systems.pipelines import BASE, BEST, HYBRID
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import BM25, HARD, QA_MIX, Reads, Study
from benchmarks.all_systems.tables import chosen, quality
from benchmarks.built.dense import STEPS
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from ranklet.training.evaluation.significance import compare

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
USED = (BM25, "minilm", "dense")
START, TRAINED = (f"{RANKERS[name].label} retrieves" for name in ("minilm", "dense"))
FUSED = BEST[Reads.QUERY]


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    rankers = {name: RANKERS[name] for name in USED}
    return section(all_studies(Scope(place, rankers=rankers, name="dense-training")))


def section(found: Mapping[str, Studied]) -> str:
    """Return the tables and the goals."""
    parts = [
        f"### {study}: {each.passages:,} passages, {each.queries} queries\n\n{quality(each)}"
        for study, each in found.items()
    ]
    return f"""
{STEPS} steps of 32 queries of qa-mix with negatives that the encoder finds itself, on two cores. \
All networks have 8 bits. Each collection is cut to about {Study.passages:,} passages, so \
figures are higher than on whole collections; scifact is whole, and its queries are \
those of its test.

{chr(10).join(goals(found))}

Against BM25: † p < .05, ‡ p < .01; the chosen fusion against *{HYBRID}*: * p < .05, ** p < .01; − \
says that it is below (two-sided paired t-tests, Holm's correction in each family). Intervals are \
95 %.

{chosen(found)}

{(chr(10) * 2).join(parts)}
"""


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
        met = test.difference > 0 and (test.p < STRICT or second == BASE)
        lines.append(
            f"- Goal: {study}, *{first}* above *{second}*"
            f"{'' if second == BASE else ', p < .01'}: "
            f"{shown(difference(values[first], values[second]))}, p = {test.p:.2g}, {verdict(met)}."
        )
    return lines
