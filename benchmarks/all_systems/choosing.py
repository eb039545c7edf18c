"""Choose the members and weights of pipelines on held-out queries of train, as `learn` does."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.all_systems.bundles import Scope, bundle_of, compute_digest, searched_in, slug
from benchmarks.all_systems.pipelines import BEST, CROSS, System
from benchmarks.all_systems.studies import BM25, Reads
from benchmarks.harness.remembering import Memory, remember
from ranklet import runtime
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.pipelines.pipeline import Pipeline
from ranklet.workflows.learn.choosing import cheapest, path
from ranklet.workflows.learn.weighing import Material, Step, read_pools, rerank_last

MEASURE = "MRR@10"
SCORING = (
    *(f"runtime/{name}" for name in ("call", "dense", "execution", "lexical", "onnx")),
    *(f"runtime/{name}" for name in ("pipeline.py", "rankers", "text")),
    "benchmarks/all_systems/pipelines.py",
)
CODE = (
    *SCORING,
    "corpus/tuning",
    *(f"src/ranklet/workflows/learn/{name}.py" for name in ("choosing", "weighing")),
    "benchmarks/all_systems/choosing.py",
)


def best_pipelines(scope: Scope, study: str) -> list[System]:
    """Return the best pipeline of each class; what was chosen is kept."""
    files = BundleFiles(bundle_of(scope, study))
    here = searched_in(scope, study)
    used, pairs = scope.rankers_of(study), scope.studies[study].pairs
    told = [compute_digest(files, used), [list(each) for each in here.held_out], pairs]
    digest = sha256(json.dumps(told).encode()).hexdigest()[:12]

    def build(target: Path) -> None:
        target.write_text(json.dumps(_chosen(scope, study)))

    name = slug("all", study, digest, "choice", "json")
    found = json.loads(scope.place.keep(name, build, CODE).read_text())
    return [
        System(best, Pipeline.from_json(pipeline), Reads(reads), members)
        for best, pipeline, reads, members in found
    ]


def _chosen(scope: Scope, study: str) -> list[list[Any]]:
    """Return the name, the stages, what networks read and the members of the best pipelines."""
    bundle = runtime.load(bundle_of(scope, study), device="cpu")
    rankers, queries = scope.rankers_of(study), searched_in(scope, study).held_out
    words, encoders = (
        [name for name, each in rankers.items() if each.reads == reads]
        for reads in (Reads.NOTHING, Reads.QUERY)
    )
    material = Material(queries, read_pools(bundle, queries, [*words, *encoders]))
    ((first,), _) = path(bundle, material, [BM25], (), (), MEASURE)
    found: dict[Reads, Step] = {}
    if words[1:]:
        steps, _ = path(bundle, material, [BM25], words[1:], (), MEASURE)
        found[Reads.NOTHING] = _cheapest(steps)
    others = found.get(Reads.NOTHING, first).members[1:]
    with_one = [path(bundle, material, [BM25, name], others, (), MEASURE)[0] for name in encoders]
    if with_one:
        found[Reads.QUERY] = max((_cheapest(steps) for steps in with_one), key=_value)
    if CROSS in rankers:
        memory: Memory = {}
        remember(bundle, CROSS, memory)
        some = [queries[at] for at in evenly(len(queries), scope.studies[study].pairs)]
        read = [
            rerank_last(bundle, some, each, CROSS, MEASURE)[0] for each in (first, *found.values())
        ]
        found[Reads.PAIRS] = max(read, key=_value)
    return [
        [
            BEST[reads],
            step.pipeline.to_json(),
            reads,
            " + ".join(
                f"{weight:.2g} · {rankers[name].label}"
                for name, weight in zip(step.members, step.weights, strict=True)
            ),
        ]
        for reads, step in found.items()
    ]


def _cheapest(steps: list[Step]) -> Step:
    return steps[cheapest([each.values for each in steps])]


def _value(step: Step) -> float:
    return float(step.values.mean())
