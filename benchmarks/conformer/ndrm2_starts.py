"""NDRM2 from the two places where it may begin, ones and BM25: does it learn to rank like BM25?

Mitra et al. (§4) find exact matching with four learned numbers competitive with BM25. Theirs begins
with ones, and the default of `ranklet train` is the BM25 that also gives the negatives.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.built.conformers import CONFORMER, Conformers
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.pipeline import Pipeline, Retrieve
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.systems import Evaluation, comparisons, evaluate, mark
from ranklet.training.rankers.conformer_kernel.options import AS_BM25, FROM_ONES

PACKAGES = ("torch", "onnxruntime")
FORM = "ndrm2"
COLLECTIONS = {"medquad": False, "qa-mix": True}  # whether titles are part of the text
QUERIES = 2_000  # of dev, at most
DEPTH = 100
MEASURES = ("nDCG@10", "MRR@10", "R@100")
RANKED_BY = MEASURES[0]
SEEDS = (0, 1, 2)
TUNED, UNTUNED = "BM25, tuned", "BM25, untuned (k1 0.9, b 0.4)"
STARTS = {"NDRM2 from BM25": AS_BM25, "NDRM2 from ones": FROM_ONES}


def run(place: Place) -> str:
    """Train what is not kept, index, and compare."""
    parts = [
        section(Conformers(place, name, titles=titles)) for name, titles in COLLECTIONS.items()
    ]
    return "\n\n".join([_intro(), *parts])


def section(first: Conformers, seeds: Sequence[int] = SEEDS) -> str:
    """Return the table of a collection.

    Args:
        first: how NDRM2 is trained, by the first seed from BM25.
        seeds: of the trainings.
    """
    trained = {
        label: [replace(first, explicit_start=start, seed=seed) for seed in seeds]
        for label, start in STARTS.items()
    }
    bundle = runtime.load(_bundle_of(first, trained))
    documents = first.place.collection(first.collection)
    queries = read_split(documents, "dev", limit=QUERIES)
    names = [_slug(label, each.seed) for label, own in trained.items() for each in own]
    pipelines = {name: Pipeline((Retrieve(name, DEPTH),)) for name in ("bm25", "untuned", *names)}
    found = {
        each.pipeline: each.values
        for each in evaluate(bundle, queries, pipelines, measures=MEASURES, depth=DEPTH)
    }
    systems = [Evaluation(TUNED, found["bm25"]), Evaluation(UNTUNED, found["untuned"])]
    told = {TUNED: ["", *_constants(first.bm25())], UNTUNED: ["", *_constants(BM25Settings())]}
    for label, networks in trained.items():
        own = [found[_slug(label, each.seed)] for each in networks]
        mean = {m: np.mean([each[m] for each in own], axis=0) for m in MEASURES}
        systems.append(Evaluation(label, mean))
        means = [float(each[RANKED_BY].mean()) for each in own]
        learned = [learned_constants(each.checkpoint(FORM)) for each in networks]
        told[label] = [
            f"{min(means):.3f} to {max(means):.3f}",
            *(_range([each[at] for each in learned]) for at in range(2)),
        ]
    title = "" if first.titles else " without titles"
    return f"""\
### {first.collection}{title}: {len(queries):,} dev queries, {len(bundle):,} documents

{_table(systems, told)}"""


def learned_constants(checkpoint: Checkpoint) -> tuple[float, float]:
    """Return the k1 and b of the BM25 that an NDRM2 is equal to.

    Its average length is E[|d|] of eq. 4, the mean over training pairs.
    """
    settings = checkpoint.settings
    if not isinstance(settings, ConformerKernelSettings):
        raise TypeError(f"an {FORM} has {type(settings).__name__}")
    by_length = max(0.0, settings.length_weight * settings.tf_mean)
    flat = settings.length_bias * settings.tf_mean
    return by_length + flat, by_length / (by_length + flat)


def _table(found: Sequence[Evaluation], told: dict[str, list[str]]) -> str:
    tests = {measure: comparisons(found, measure, TUNED) for measure in MEASURES}
    base, rows = found[0].values[RANKED_BY], []
    for each in found:
        cells = [each.pipeline]
        for measure in MEASURES:
            test = tests[measure].get(each.pipeline)
            sign = mark(test.p_holm).strip() if test else ""
            cells.append(f"{each.mean(measure):.4f}{sign}")
        own = each.values[RANKED_BY]
        cells.append("" if each.pipeline == TUNED else shown(difference(own, base)))
        rows.append([*cells, *told[each.pipeline]])
    head = ["system", *MEASURES, f"{RANKED_BY} − {TUNED} (95 %)", "seeds", "k1", "b"]
    return table(head, rows)


def _constants(settings: BM25Settings) -> list[str]:
    return [f"{settings.k1:.2f}", f"{settings.b:.2f}"]


def _range(values: Sequence[float]) -> str:
    """Return the lowest and the highest of some values.

    >>> _range([0.5, 0.25]), _range([0.5, 0.501])
    ('0.25 to 0.50', '0.50')
    """
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _slug(label: str, seed: int) -> str:
    return f"{STARTS[label]}-{seed}"


def _bundle_of(first: Conformers, trained: dict[str, list[Conformers]]) -> Path:
    """Return the bundle of both BM25 and every NDRM2, indexed."""

    def build(path: Path) -> None:
        tuned = first.bm25()
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned),
            "untuned": Checkpoint("bm25", BM25Settings(field=tuned.field)),
        }
        for label, networks in trained.items():
            checkpoints |= {_slug(label, each.seed): each.checkpoint(FORM) for each in networks}
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, overwrite=True)
        documents = first.place.collection(first.collection)
        index_bundle(rankers, documents, path, titles=first.titles, overwrite=True)

    seeds = len(next(iter(trained.values())))
    steps = dict(first.steps)[FORM]
    name = f"{first.name}.{FORM}-starts.{steps}.{seeds}.ranklet"
    return first.place.keep(name, build, (*CODE, *CONFORMER))


def _intro() -> str:
    steps = dict(Conformers.steps)[FORM]
    return f"""\
NDRM2 learns for {steps:,} steps of 16 queries of train, by RankNet over a relevant document, one \
of BM25's best 100 and two random ones. Held-out queries of train choose between the weights of \
every {Conformers.every} steps. All systems retrieve from the whole collection by impacts in 8 \
bits, and read lemmas. k1 and b of an NDRM2 are those of the BM25 that it equals, whose average \
length is that of the documents that it learned from. Values of NDRM2 are means over {len(SEEDS)} \
seeds, and *seeds* has the lowest and the highest {RANKED_BY}.

Against *{TUNED}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction for each \
measure). Intervals are the t-test's."""
