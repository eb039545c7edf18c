"""Resolve a caller's pipeline, which is a name of the bundle's pipelines or the caller's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from ranklet.runtime.errors import BundleError, InputError, UnknownRankerError
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve, Stage
from ranklet.runtime.storage.manifest import Manifest

# A pipeline's name, a pipeline, or its list of stages, which may be JSON; None is the default.
Stages = Sequence[Stage | Mapping[str, Any]]
PipelineLike = str | Pipeline | Stages | None


def resolve_pipeline(pipeline: PipelineLike, manifest: Manifest) -> Pipeline:
    """Return the pipeline that a caller means.

    A bundle whose only ranker cannot retrieve, such as a cross-encoder, has no pipeline. Then a
    pipeline of this ranker is returned, which can rank a caller's texts but raises an error for a
    collection.

    Raises:
        UnknownRankerError: the bundle has no pipeline of that name.
        InputError: it is not a pipeline.
    """
    if pipeline is None:
        if not manifest.pipelines and len(manifest.rankers) == 1:
            return Pipeline((Retrieve(next(iter(manifest.rankers)), 1),))
        pipeline = manifest.default_pipeline
    if isinstance(pipeline, str):
        if pipeline not in manifest.pipelines:
            raise UnknownRankerError(
                f"unknown pipeline {pipeline!r}; the bundle has "
                f"{', '.join(manifest.pipelines) or 'none'}"
            )
        return manifest.pipelines[pipeline]
    return own_pipeline(pipeline)


def own_pipeline(pipeline: Pipeline | Stages) -> Pipeline:
    """Return a caller's own pipeline, checked.

    Raises:
        InputError: it is not a pipeline.
    """
    stages = pipeline.stages if isinstance(pipeline, Pipeline) else pipeline
    try:
        return Pipeline.from_json(stages)
    except (BundleError, TypeError, AttributeError) as error:  # not the bundle's error
        raise InputError(f"this is not a pipeline: {error}") from error
