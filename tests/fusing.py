"""Bundles whose default pipeline adds up rankers by learned weights."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ranklet.corpus.building.default_pipelines import stages
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipelines.pipeline import Fuse, Pipeline
from ranklet.workflows.learn.weighing import Material, Step, read_pools, weigh


def weighed(bundle: Bundle, rankers: Sequence[str], queries: Sequence[JudgedQuery]) -> Step:
    """Return the pipeline that adds up rankers by weights that are learned on queries."""
    return weigh(bundle, Material(queries, read_pools(bundle, queries, rankers)), rankers, "MRR@10")


def fused(
    source: Path, target: Path, queries: Sequence[JudgedQuery], rankers: Sequence[str]
) -> Path:
    """Write a bundle with a pipeline ``linear`` more, which is its default."""
    bundle = Bundle(source)
    learned = weighed(bundle, rankers, queries)
    lists = stages(rankers, bundle.manifest.rankers)
    pipeline = Pipeline((*lists, Fuse("linear", learned.members, learned.weights)))
    pipelines = {**bundle.manifest.pipelines, "linear": pipeline}
    with BundleWriter(target) as writer:
        writer.copy(bundle.files)
        return writer.finish(
            replace(bundle.manifest, pipelines=pipelines, default_pipeline="linear")
        )
