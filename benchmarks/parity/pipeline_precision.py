"""What 8 bits change in the best pipelines, next to the same with networks in 32 bits.

An export proves that its fp32 variant has PyTorch's scores. So the same pipelines, with fp32
networks for queries, documents and pairs, say what PyTorch reaches. Vectors and impacts are stored
in the same forms.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope, bundle_of, searched_in
from benchmarks.all_systems.choosing import best_pipelines
from benchmarks.all_systems.comparing import Values
from benchmarks.all_systems.measuring import values_of
from benchmarks.all_systems.pipelines import System
from benchmarks.all_systems.studies import BM25, Reads
from benchmarks.harness.intervals import ratio
from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from ranklet.corpus.evaluation.significance import Interval
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS

PACKAGES = ("torch", "onnxruntime", "tokenizers")
WIDE = "fp32"
MEASURES = ("MRR@10", "nDCG@10")  # the goal is for the first
MOST = 0.003  # of the measure, that 8 bits may lose
READ = 60  # queries of systems whose networks read pairs


class Compared(NamedTuple):
    """A pipeline with networks in 8 bits, and the same in 32 bits.

    Attributes:
        study: the collection.
        system: name of the pipeline.
        eight, wide: by measure, a value of each query that was read, NaN for others.
    """

    study: str
    system: str
    eight: Values
    wide: Values

    def values(self, measure: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values in 8 and in 32 bits of the queries that were read, (queries,) each."""
        read = ~np.isnan(self.eight[measure])
        return self.eight[measure][read], self.wide[measure][read]


def run(place: Place) -> str:
    """Export and index what is not kept, then measure."""
    return section(Scope(place))


def section(scope: Scope, read: int = READ) -> str:
    """Return the table of a run that chose pipelines.

    Args:
        scope: of that run.
        read: queries of systems whose networks read pairs, at most.
    """
    with one_thread():
        found = [each for study in scope.studies for each in compared(scope, study, read)]
    return f"""
{differences(found)}

{goal(found)}

The pipelines that `all_systems` chose, from the bundles that it measured and from others whose \
networks have 32 bits, which the export has proven to be PyTorch's. Vectors and impacts are stored \
in the same forms. Pipelines without a network for queries are not here, because impacts are \
always computed in 32 bits. In brackets: the 95 % interval of a paired bootstrap. *Changed*: \
queries whose {MEASURES[0]} is another. Systems whose networks read pairs have at most {read} \
queries.
"""


def compared(scope: Scope, study: str, read: int) -> list[Compared]:
    """Return the best pipelines of a study that have networks in 8 bits, next to 32 bits.

    Impacts are computed by the most exact network of a bundle, so those without a network for
    queries have none.
    """
    path, queries = bundle_of(scope, study), searched_in(scope, study).queries
    files = BundleFiles(path)
    systems = [
        each
        for each in best_pipelines(scope, study)
        if each.reads != Reads.NOTHING and _in_8_bits(files, each)
    ]
    if not systems:
        return []
    scope = replace(
        scope, studies={**scope.studies, study: replace(scope.studies[study], read=read)}
    )
    wide = in_32_bits(scope, systems)
    other = bundle_of(wide, study)
    return [
        Compared(
            study,
            each.name,
            values_of(scope, study, path, each, queries, {}),
            values_of(wide, study, other, each, queries, {}),
        )
        for each in systems
    ]


def in_32_bits(scope: Scope, systems: Sequence[System]) -> Scope:
    """Return the scope of bundles with the rankers of some systems, their networks in 32 bits."""
    used = {name for each in systems for name in each.pipeline.rankers()} | {BM25}
    return replace(
        scope,
        rankers={name: each for name, each in scope.rankers.items() if name in used},
        options=replace(scope.options, variants=("fp32",)),
        name=f"{scope.name}-{WIDE}",
        parts=f"{scope.parts}-{WIDE}",
    )


def differences(found: Sequence[Compared]) -> str:
    """Return a row per pipeline."""
    rows = []
    for each in found:
        eight, wide = each.values(MEASURES[0])
        row = [each.study, each.system, f"{len(eight):,}"]
        for measure in MEASURES:
            both = each.values(measure)
            row += [*(f"{values.mean():.4f}" for values in both), percent(ratio(*both))]
        rows.append([*row, f"{np.mean(eight != wide):.1%}"])
    head = ["collection", "system", "queries"]
    head += [
        f"{measure}{part}" for measure in MEASURES for part in (", int8", ", fp32", ", change")
    ]
    return table([*head, "changed"], rows)


def goal(found: Sequence[Compared]) -> str:
    """Return the goal, met or missed."""
    first, lost = MEASURES[0], {}
    for each in found:
        eight, wide = each.values(first)
        lost[f"{each.system}, {each.study}"] = 1 - float(eight.mean() / wide.mean())
    if not lost:
        return "No pipeline has a network in 8 bits."
    worst = max(lost, key=lambda name: lost[name])
    above = sum(each > MOST for each in lost.values())
    verdict = "**missed**" if above else "met"
    return (
        f"- Goal: int8 loses at most {MOST:.1%} of {first} in every pipeline: {verdict}; "
        f"{above} of {len(lost)} lose more, and the largest loss is {lost[worst]:.2%} ({worst})."
    )


def percent(factor: Interval) -> str:
    """Return a factor as a change with its interval.

    >>> percent(Interval(0.998, 0.99, 1.004))
    '-0.2% (-1.0% to +0.4%)'
    """
    value, low, high = (each - 1 for each in factor)
    return f"{value:+.1%} ({low:+.1%} to {high:+.1%})"


def _in_8_bits(files: BundleFiles, system: System) -> bool:
    """Return whether a system uses a network that has 8 bits."""
    folders = tuple(f"rankers/{name}/" for name in system.pipeline.rankers())
    return any(
        name.startswith(folders) and Path(name).name == VARIANTS["int8"]
        for name in files.manifest.files
    )
