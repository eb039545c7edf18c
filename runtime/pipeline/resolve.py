"""Which pipeline a call means: one of the bundle's by its name, or a recipe of the caller's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from ranklet.runtime.errors import BundleError, InputError, UnknownRankerError
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve
from ranklet.runtime.storage.manifest import Manifest

# A pipeline's name, a pipeline, its list of stages; None is the bundle's default.
Recipe = str | Pipeline | Sequence[Mapping[str, Any]] | None


def chosen(recipe: Recipe, manifest: Manifest) -> Pipeline:
    """Return the pipeline that a caller means.

    A bundle whose only ranker cannot retrieve, such as a cross-encoder, has no pipeline. It ranks
    the texts that a caller gives; asked for documents of a collection, it says that it cannot.

    Raises:
        UnknownRankerError: the bundle has no pipeline of that name.
        InputError: it is no pipeline.
    """
    if recipe is None:
        if not manifest.pipelines and len(manifest.rankers) == 1:
            return Pipeline((Retrieve(next(iter(manifest.rankers)), 1),))
        recipe = manifest.default_pipeline
    if isinstance(recipe, str):
        if recipe not in manifest.pipelines:
            raise UnknownRankerError(
                f"unknown pipeline {recipe!r}; the bundle has "
                f"{', '.join(manifest.pipelines) or 'none'}"
            )
        return manifest.pipelines[recipe]
    try:  # a Pipeline, too: nothing has checked one that was made by hand
        raw = recipe.to_json() if isinstance(recipe, Pipeline) else recipe
        return Pipeline.from_json(raw)
    except (BundleError, TypeError, AttributeError) as error:  # the caller's, not the bundle's
        raise InputError(f"this is not a pipeline: {error}") from error
