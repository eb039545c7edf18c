"""What a system costs on one collection: time, size, memory and the start of a process."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.all_systems.bundles import (
    Scope,
    bundle_of,
    compute_digest,
    megabytes,
    minutes,
    searched_in,
    slug,
)
from benchmarks.all_systems.comparing import Cost
from benchmarks.all_systems.pipelines import System
from benchmarks.all_systems.studies import Reads
from benchmarks.harness.processes import ONE_THREAD, fresh, one_thread
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.sets import evenly

CODE = ("runtime", "benchmarks/harness/timing.py", "benchmarks/all_systems/timing.py")
K = 10  # hits
QUIET = {**ONE_THREAD, "RANKLET_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
NEVER = ("torch", "transformers")
SNIPPET = """
from ranklet import runtime
lap("import")
bundle = runtime.load(path, device="cpu")
lap("open")
answer["hits"] = len(bundle.rank(text, k=k, pipeline=pipeline))
lap("first query")
answer["modules"] = sorted(set(sys.modules) & set(never))
"""


def costs(scope: Scope, study: str, systems: Sequence[System]) -> dict[str, Cost]:
    """Return the costs of systems on a study, by name; times are kept."""
    path = bundle_of(scope, study)
    files = BundleFiles(path)
    queries = searched_in(scope, study).queries
    texts = [queries[at].text for at in evenly(len(queries), scope.timed)]
    recipes = {each.name: each.pipeline.to_json() for each in systems}
    readers = {each.name for each in systems if each.reads == Reads.PAIRS}
    told = [
        compute_digest(files, scope.rankers_of(study)),
        recipes,
        texts,
        scope.rounds,
        scope.starts,
    ]
    told += [sorted(readers), scope.timed_pairs]
    key = sha256(json.dumps(told).encode()).hexdigest()[:12]

    def build(target: Path) -> None:
        # Those that read pairs take hundreds of times as long, so they have turns of their own.
        slow = {name: each for name, each in recipes.items() if name in readers}
        quick = {name: each for name, each in recipes.items() if name not in readers}
        times = latencies(path, quick, texts, scope.rounds)
        few = [texts[at] for at in evenly(len(texts), scope.timed_pairs)]
        times |= latencies(path, slow, few, scope.rounds)
        starts = first_answers(path, recipes, texts[0], scope.starts)
        target.write_text(json.dumps({name: [*times[name], *starts[name]] for name in recipes}))

    name = slug("all", study, key, "times", "json")
    measured = json.loads(scope.place.keep(name, build, CODE).read_text())
    found = {}
    for each in systems:
        p50, p99, memory, start = measured[each.name]
        used = each.pipeline.rankers
        size = megabytes(files, {name: scope.rankers[name].reads for name in used})
        found[each.name] = Cost(p50, p99, size, memory, start, minutes(files, used, scope))
    return found


def latencies(
    path: Path, recipes: dict[str, list[dict[str, Any]]], texts: Sequence[str], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return p50 and p99 of `rank` in ms, on one thread of one processor, in turns."""
    with one_thread(), one_processor():
        bundle = runtime.load(path, device="cpu")
        contenders: dict[str, Callable[[str], object]] = {
            name: partial(bundle.rank, k=K, pipeline=recipe) for name, recipe in recipes.items()
        }
        took = take_turns(contenders, texts, rounds)
    return {name: (float(np.median(ms)), float(np.percentile(ms, 99))) for name, ms in took.items()}


def first_answers(
    path: Path, recipes: dict[str, list[dict[str, Any]]], text: str, rounds: int
) -> dict[str, tuple[float, float]]:
    """Return memory in 10⁶ bytes and ms to the first answer, medians of fresh processes in turns.

    The first process of each fills the page cache and is not counted.

    Raises:
        ValueError: a process has loaded PyTorch.
    """
    peaks: dict[str, list[float]] = {name: [] for name in recipes}
    laps: dict[str, list[float]] = {name: [] for name in recipes}
    for turn in range(-1, rounds):
        for name, recipe in recipes.items():
            given = {"path": str(path), "pipeline": recipe, "text": text, "k": K, "never": NEVER}
            found = fresh(SNIPPET, given, environment=QUIET)
            if found["modules"]:
                raise ValueError(f"{name} has loaded {', '.join(found['modules'])}")
            if turn >= 0:
                peaks[name].append(found["VmHWM"] / 1e6)
                laps[name].append(sum(found["laps"].values()))
    return {name: (float(np.median(peaks[name])), float(np.median(laps[name]))) for name in recipes}


@contextmanager
def one_processor() -> Iterator[None]:
    """Let this process use one processor only, where the system can say so."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
