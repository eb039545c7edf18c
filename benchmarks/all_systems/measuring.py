"""What the systems of a study reach on the reported queries, each kept."""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import (
    Scope,
    bundle_of,
    compute_digest,
    exported,
    searched_in,
    slug,
)
from benchmarks.all_systems.choosing import SCORING, best_pipelines
from benchmarks.all_systems.comparing import Studied, Values
from benchmarks.all_systems.pipelines import CROSS, System, alone, hybrids
from benchmarks.all_systems.studies import Reads
from benchmarks.harness.judging import sharing
from benchmarks.harness.processes import one_thread
from benchmarks.harness.remembering import Memory, remember
from ranklet import runtime
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.systems import MEASURES, evaluate
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.sets import evenly

DEPTH = 100  # that is measured
CODE = (*SCORING, "corpus/evaluation", "benchmarks/all_systems/measuring.py")


def all_studies(scope: Scope) -> dict[str, Studied]:
    """Train and export what is not kept, one after the other; then index and measure studies.

    Studies are worked on in several processes, and each network has one thread there.
    """
    for study in scope.studies:
        for name in scope.rankers_of(study):
            exported(scope, study, name)
    if scope.processes < 2:
        return {study: studied(scope, study) for study in scope.studies}
    with ProcessPoolExecutor(scope.processes, get_context("spawn")) as pool:
        jobs = {study: pool.submit(studied, scope, study) for study in scope.studies}
        return {study: job.result() for study, job in jobs.items()}


def answers_seen(scope: Scope, study: str) -> NDArray[np.bool_]:
    """Return which reported queries share a relevant document with those that were learned from."""
    here = scope.studies[study]
    learned = read_split(scope.place.collection(here.collection), here.learn)
    return sharing(searched_in(scope, study).queries, learned)


def studied(scope: Scope, study: str, *, fused: bool = True) -> Studied:
    """Index a study, choose its best pipelines, and measure all systems.

    Args:
        scope: of the run.
        study: its name.
        fused: whether there are pipelines to choose besides the rankers alone.
    """
    with one_thread():
        path = bundle_of(scope, study)
        here = searched_in(scope, study)
        chosen = best_pipelines(scope, study) if fused else []
        used = scope.rankers_of(study)
        systems = [*alone(used), *hybrids(runtime.load(path, device="cpu"), used), *chosen]
        memory: Memory = {}
        values = {
            each.name: list_values(scope, study, path, each, here.queries, memory)
            for each in systems
        }
    return Studied(len(here.passages), len(here.queries), len(here.held_out), systems, values)


def list_values(
    scope: Scope,
    study: str,
    path: Path,
    system: System,
    queries: Sequence[JudgedQuery],
    memory: Memory,
) -> Values:
    """Return a system's measures; they depend on its own rankers, and on no others.

    Systems that read pairs have some of the queries only, and NaN for the others. `memory` has what
    the cross-encoder said.
    """
    pairs, count = system.reads == Reads.PAIRS, len(queries)
    read = evenly(count, scope.studies[study].read if pairs else count)
    queries = [queries[at] for at in read]
    digest = compute_digest(BundleFiles(path), system.pipeline.rankers)
    told: list[Any] = [digest, system.pipeline.to_json(), [list(each) for each in queries]]
    key = sha256(json.dumps(told).encode()).hexdigest()[:16]

    def build(target: Path) -> None:
        bundle = runtime.load(path, device="cpu")
        if pairs:
            remember(bundle, CROSS, memory)
        (found,) = evaluate(bundle, queries, {system.name: system.pipeline}, depth=DEPTH)
        with target.open("wb") as file:
            np.savez(file, allow_pickle=False, **found.values)

    kept = scope.place.keep(slug("all", study, key, "values", "npz"), build, CODE)
    with np.load(kept, allow_pickle=False) as file:
        return {measure: _scattered(file[measure], read, count) for measure in MEASURES}


def _scattered(
    values: NDArray[np.float64], numbers: Sequence[int], count: int
) -> NDArray[np.float64]:
    """Return values of some of `count` queries, with NaN for the others."""
    found = np.full(count, np.nan)
    found[numbers] = values
    return found
