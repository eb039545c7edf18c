"""What a longer training adds to a cross-encoder that reads last, on qa-mix.

Both begin with all-MiniLM-L6-v2. The long one also has a higher learning rate and negatives that
BM25 ranks higher. What both read, and how they are fused with it, is chosen on held-out queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import LEAST, RANKED_BY, Studied, paired, verdict
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE, BEST, CROSS, RERANKED
from benchmarks.all_systems.rankers import CROSS_DEPTH, CROSS_RATE, CROSS_STEPS, RANKERS, learned
from benchmarks.all_systems.studies import BM25, QA_MIX, STUDIES, Ranker, Reads, Study
from benchmarks.all_systems.tables import chosen_each
from benchmarks.built.trained import CROSS as CROSS_CODE
from benchmarks.built.trained import CROSS_RATES
from benchmarks.harness.intervals import difference, ratio, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import MEASURES, mark
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.options import Options

PACKAGES = ("torch", "transformers", "onnxruntime")
OTHERS = (BM25, "model1", "dense")  # what may stand before the cross-encoder
SHORT_STEPS = 400
READS_LAST, ENCODER = BEST[Reads.PAIRS], BEST[Reads.QUERY]
USES = (f"cross-encoder on BM25's first {RERANKED}", READS_LAST)


@dataclass(frozen=True)
class Lesson:
    """How a cross-encoder learns.

    Attributes:
        label: what tables call it.
        parts: what its exports are called.
        ranker: that is measured.
    """

    label: str
    parts: str
    ranker: Ranker


def short(place: Place, _: Study) -> Checkpoint:
    """Return the cross-encoder of the short training; one that was interrupted goes on."""
    options = Options(learning_rate=CROSS_RATES[0], steps=SHORT_STEPS, evaluations=3)
    return learned(place, QA_MIX, "cross_encoder", cross_encoder.train, options, CROSS_CODE)


LESSONS = (
    Lesson(f"{SHORT_STEPS:,} steps", "shorter", replace(RANKERS[CROSS], learn=short)),
    Lesson(f"{CROSS_STEPS:,} steps", "all", RANKERS[CROSS]),
)


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    return section({each.label: studied(scope(place, each), QA_MIX) for each in LESSONS})


def scope(place: Place, lesson: Lesson) -> Scope:
    """Return what is measured with a cross-encoder."""
    rankers = {**{name: RANKERS[name] for name in OTHERS}, CROSS: lesson.ranker}
    return Scope(
        place, {QA_MIX: STUDIES[QA_MIX]}, rankers, name=f"longer-{lesson.parts}", parts=lesson.parts
    )


def section(found: Mapping[str, Studied]) -> str:
    """Return the tables of a run.

    Args:
        found: what was measured with each cross-encoder, the short training first.
    """
    first = next(iter(found.values()))
    read = len(paired(first, READS_LAST, BASE, RANKED_BY)[0])
    chosen = chosen_each(found, READS_LAST)
    return f"""
{read:,} dev queries of qa-mix, {first.passages:,} passages, all networks in 8 bits as they are \
served. {SHORT_STEPS:,} steps of 16 queries have the rate {CROSS_RATES[0]:g} and one negative of \
BM25's first 500. {CROSS_STEPS:,} steps have the rate {CROSS_RATE:g} and negatives of BM25's first \
{CROSS_DEPTH}; this is the training of `all_systems`. Steps, rate and negatives differ together, \
so the table says what this training adds, and not which of the three does.

{_quality(found)}

† p < .05, ‡ p < .01 against BM25; * p < .05, ** p < .01 against the short training's (two-sided \
paired t-tests, Holm's correction in each family). Intervals are 95 %.

{_goal(found)}

What was chosen on {STUDIES[QA_MIX].pairs} held-out queries of train:

{table(["training", READS_LAST], chosen)}
"""


def _quality(found: Mapping[str, Studied]) -> str:
    """Return BM25, what stands before the cross-encoder, and both uses of each cross-encoder."""
    short, long_ = found
    values = {measure: _values(found, measure) for measure in MEASURES}
    bases = {f"{use}, {long_}": f"{use}, {short}" for use in USES}
    signs = {measure: _signs(own, bases) for measure, own in values.items()}
    rows = []
    for name, own in values[RANKED_BY].items():
        means = [f"{each[name].mean():.4f}{signs[m].get(name, '')}" for m, each in values.items()]
        gain = shown(difference(own, values[RANKED_BY][bases[name]])) if name in bases else ""
        rows.append([name, *means, gain])
    return table(["system", *MEASURES, f"{RANKED_BY} − the short training's"], rows)


def _values(found: Mapping[str, Studied], measure: str) -> dict[str, NDArray[np.float64]]:
    """Return a measure of all rows on the queries that cross-encoders have read."""
    first = next(iter(found.values()))
    values = {name: paired(first, name, READS_LAST, measure)[0] for name in (BASE, ENCODER)}
    for label, each in found.items():
        for use in USES:
            values[f"{use}, {label}"] = paired(each, use, BASE, measure)[0]
    return values


def _signs(values: Mapping[str, NDArray[np.float64]], bases: Mapping[str, str]) -> dict[str, str]:
    """Return the marks of each row, against BM25 and against the short training."""
    signs = dict.fromkeys(values, "")
    families = {
        ("†", "‡"): [(name, BASE) for name in values if name != BASE],
        ("*", "**"): list(bases.items()),
    }
    for (weak, strong), pairs in families.items():
        for each in compare(values, pairs=pairs):
            sign = {"†": weak, "‡": strong}.get(mark(each.p_holm), "")
            signs[each.first] += ("−" if each.difference < 0 else "") + sign if sign else ""
    return signs


def _goal(found: Mapping[str, Studied]) -> str:
    """Return the goal of a cross-encoder last, for each training."""
    _, least = LEAST[Reads.PAIRS]
    lines = []
    for label, each in found.items():
        reached = ratio(*paired(each, READS_LAST, BASE, RANKED_BY))
        lines.append(
            f"- Goal: {READS_LAST}, {label}, {RANKED_BY} ≥ {least:.2f} × BM25's: "
            f"**{reached.value:.3f} ×** ({reached.low:.3f} to {reached.high:.3f}), "
            f"{verdict(reached.value >= least)}."
        )
    return "\n".join(lines)
