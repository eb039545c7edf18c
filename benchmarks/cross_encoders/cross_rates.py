"""The learning rate of a cross-encoder, by whole trainings and on held-out queries of train.

`ranklet train cross_encoder` has a default, which was Boytsov & Kolter's rate for BERT base. Here
MiniLM-L6 learns at several rates, all else being equal. `chosen_rate` of equal_starts asks what is
best after a few steps, and a high rate may win early and lose late.
"""

from collections.abc import Sequence

from benchmarks.cross_encoders import served
from benchmarks.cross_encoders.candidates import Lists, found_by_bm25
from benchmarks.cross_encoders.comparing import RANKED_BY, SIGNS, Row, alone, shown_rows
from benchmarks.cross_encoders.scope import EXPORT_MINUTES, STEP, Scope, Sizes, announce
from benchmarks.cross_encoders.systems import VANILLA, System
from benchmarks.cross_encoders.trainings import Source, learned, qa_mix
from benchmarks.harness.evenly import unseen
from benchmarks.harness.place import Place
from ranklet.export.options import ExportOptions

PACKAGES = ("torch", "transformers", "onnxruntime")
RATES = (2e-5, 1e-4, 2e-4)  # of the encoder; the first is the paper's


def run(place: Place) -> str:
    """Train what is not kept, score by the exported networks, compare."""
    scope = Scope(place)
    announce("cross_rates", estimated(scope.sizes))
    return section(scope)


def estimated(sizes: Sizes) -> dict[str, float]:
    """Return the minutes of each part."""
    return {
        "trainings": len(RATES) * sizes.training_minutes(sizes.steps, sizes.pool),
        "exports": len(RATES) * EXPORT_MINUTES,
        "scores": len(RATES) * sizes.scoring_minutes(sizes.queries * sizes.depth),
    }


def section(
    scope: Scope,
    rates: Sequence[float] = RATES,
    options: ExportOptions = served.EXPORT,
    system: System = VANILLA,
) -> str:
    """Return the table of a run.

    Args:
        scope: of the run.
        rates: of the encoder, the paper's first.
        options: of the export.
        system: what learns.
    """
    sizes, source = scope.sizes, qa_mix(scope.place)
    lists = held_out(scope, source)
    found = [Row("BM25, tuned", alone(lists, lists.scores), notes=("", ""))]
    for rate in rates:
        path = learned(scope, source, system, steps=sizes.steps, rate=rate, pool=sizes.pool)
        base = found[1].seeds if len(found) > 1 else ()
        row = served.row(
            scope.place, f"{rate:g}", [path], lists,
            options=options, base=base, notes=served.course([path]),
        )  # fmt: skip
        found.append(row)
    best = max(found[1:], key=lambda row: float(row.alone[RANKED_BY].mean())).label
    shown = shown_rows(found, f"{rates[0]:g}'s", notes=("pool", "minutes"))
    return f"""\
{system.label} begins with all-MiniLM-L6-v2 and learns for {sizes.steps} steps of {STEP} queries \
of qa-mix's train, by the margin loss, at the highest rate that a row names, which falls to 0. The \
head learns ten times as fast. The rows rerank BM25's first {sizes.depth} documents for \
{len(lists.queries):,} held-out queries of train, none of which chose between first and last \
weights. *Pool*: MRR@10 on those that did, before and after. Scores are those of exported bundles.

{SIGNS}

{shown}

The best rate alone is {best}. One seed; {sizes.steps * STEP:,} queries."""


def held_out(scope: Scope, source: Source) -> Lists:
    """Return held-out queries with BM25's first documents, without those that chose weights."""
    sizes = scope.sizes
    some = unseen(source.collection, source.held_out, chose=sizes.pool, most=sizes.queries)
    return found_by_bm25(scope.place, source.collection, source.bm25, some, sizes.depth)
