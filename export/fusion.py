"""Learn a pipeline's fusion weights from the scores that serving adds up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.default_pipelines import BY_RANKS, DEPTH, SUM, stages
from ranklet.corpus.building.writer import BundleWriter, check_source
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.measures import parse_measure
from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.progress import progress
from ranklet.corpus.tuning.coordinate_ascent import FusionWeights, coordinate_ascent
from ranklet.corpus.tuning.cross_validation import check_folds, held_out, interpolate
from ranklet.corpus.tuning.judged_candidates import judged_lists
from ranklet.export.errors import ExportError
from ranklet.runtime.arguments import listed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, check_name
from ranklet.runtime.errors import BundleError
from ranklet.runtime.options import check_one_of
from ranklet.runtime.pipeline import FIXED, SCALINGS, Fuse, Pipeline
from ranklet.runtime.storage.address import BundleLike

PIPELINE = "linear"  # the name of the learned pipeline, unless another is given
# Candidates per query with the fixed scale; deeper ones hardly ever reach the top 10. The other
# scalings depend on all candidates, so weights are learned from as many as are served.
LEARNING_DEPTH = 200


@dataclass(frozen=True)
class LearnedWeights(FusionWeights):
    """Weights, and what they are worth.

    Attributes:
        held_out: the measure of each query by weights of the other folds, (queries,).
        before: the measure of each query by the bundle's default pipeline, (queries,); empty until
            `fuse_bundle` has measured it.
        default: the name of that pipeline.
    """

    held_out: NDArray[np.float64] = field(compare=False)
    before: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), compare=False)
    default: str = ""

    @property
    def gain(self) -> Interval:
        """What weights gain over the default pipeline on queries that they did not learn from."""
        return interval(self.held_out, self.before)


def learn_weights(
    bundle: Bundle,
    rankers: Sequence[str],
    queries: Sequence[JudgedQuery],
    *,
    measure: str = "MRR@10",
    depth: int = LEARNING_DEPTH,
    folds: int = 0,
    scaling: str = FIXED,
) -> LearnedWeights:
    """Learn linear weights of rankers by coordinate ascent, or of two by cross-validation.

    Args:
        bundle: a bundle with a collection.
        rankers: the rankers; those with an index retrieve, and the others rescore.
        queries: judged ones that no ranker was trained on.
        measure: MRR@k, nDCG@k or R@k.
        depth: candidates per query.
        folds: folds of the cross-validation of α, see `interpolate`; 0 for coordinate ascent.
        scaling: how scores are made comparable; see `Fuse`.

    Raises:
        InputError: the measure, the number of folds or the scaling is not allowed.
    """
    parse_measure(measure)  # raises before hours of scoring, not after them
    check_one_of("scaling", scaling, SCALINGS)
    if folds:
        check_folds(folds, len(rankers), len(queries))
    kinds = bundle.manifest.rankers
    ranks = Fuse("rrf", tuple(rankers), (1.0,) * len(rankers))  # its scores are not used
    pipeline = Pipeline((*stages(rankers, kinds, depth), ranks))
    rows, retrieved = [], []
    for query in progress(queries, "features for fusion"):
        ids, columns = bundle.features(query.text, pipeline=pipeline, scaling=scaling)
        rows.append(np.column_stack([columns[name] for name in rankers]))
        retrieved.append(ids)
    judged = judged_lists(queries, retrieved, rows)
    if not folds:
        found = coordinate_ascent(judged, measure)
        values = held_out(judged, measure)
        return LearnedWeights(found.weights, found.value, found.history, values)
    fit = interpolate(judged, measure, folds=folds)
    return LearnedWeights((fit.alpha, 1 - fit.alpha), fit.value, (fit.alphas,), fit.values)


def fuse_bundle(
    source: BundleLike,
    target: str | Path,
    queries: Sequence[JudgedQuery],
    *,
    rankers: Sequence[str] = (),
    measure: str = "MRR@10",
    name: str = PIPELINE,
    depth: int = DEPTH,
    folds: int = 0,
    overwrite: bool = False,
    scaling: str = FIXED,
) -> LearnedWeights:
    """Write a bundle whose default pipeline fuses rankers by learned weights.

    Args:
        source: a bundle with a collection.
        target: a folder or .zip; with `overwrite` it may be the source.
        queries: judged ones that no ranker was trained on.
        rankers: the rankers to fuse; none means all, in the bundle's order.
        measure: the measure that the weights maximise.
        name: the pipeline's name.
        depth: candidates of each impact index when serving.
        folds: above 0 to cross-validate the α of two rankers; see `learn_weights`.
        overwrite: whether a bundle at the target is replaced.
        scaling: how the pipeline makes scores comparable; see `Fuse`.

    Returns:
        The weights, and what the pipeline of the new bundle reaches on the queries. With folds it
        is what the weights of the other folds reach. The gain over the default pipeline is measured
        by weights of other folds in any case.

    Raises:
        BundleError: the source cannot be read.
        InputError: the measure, the number of folds or the scaling is not allowed.
        ExportError: there are fewer than two rankers, one is named twice, or the target exists.
    """
    check_source(source, target)
    with BundleWriter(target, overwrite=overwrite) as writer:  # raises now if the target exists
        bundle, loaded = BundleFiles(source, check="full"), Bundle(source)
        manifest = bundle.manifest
        rankers = listed(rankers, "rankers", "give at least two")
        names = _checked(tuple(rankers) or tuple(manifest.rankers), name, manifest)
        learned = learn_weights(
            loaded, names, queries, measure=measure, folds=folds, scaling=scaling,
            depth=LEARNING_DEPTH if scaling == FIXED else depth,
        )  # fmt: skip
        weights = tuple(round(weight, 6) for weight in learned.weights)
        fuse = Fuse("linear", names, weights, scaling=scaling)
        pipeline = Pipeline((*stages(names, manifest.rankers, depth), fuse))
        default = manifest.default_pipeline
        (before,) = evaluate(loaded, queries, {default: None}, measures=[measure])
        learned = replace(learned, before=before.values[measure], default=default)
        if not folds:  # ranks once more, because lists may be deeper and passages others
            (served,) = evaluate(loaded, queries, {name: pipeline}, measures=[measure])
            learned = replace(learned, value=served.mean(measure))
        facts = {
            "measure": measure,
            **({} if scaling == FIXED else {"scaling": scaling}),
            "value": learned.value,
            "queries": len(queries),
            **({"folds": folds, "alphas": list(learned.history[0])} if folds else {}),
        }
        writer.copy(bundle)
        writer.finish(
            replace(
                manifest,
                pipelines={**manifest.pipelines, name: pipeline},
                default_pipeline=name,
                provenance={**manifest.provenance, f"fusion {name}": facts},
            )
        )
    return learned


def _checked(names: tuple[str, ...], pipeline: str, manifest: Manifest) -> tuple[str, ...]:
    """Return the names of rankers to fuse by a new pipeline, before hours of scoring."""
    if len(set(names)) < max(2, len(names)):
        raise ExportError(
            f"fusion needs two rankers or more, each once, not {', '.join(names)}; the bundle has "
            f"{', '.join(manifest.rankers)}"
        )
    if pipeline in manifest.rankers or pipeline in (SUM, BY_RANKS):
        raise ExportError(
            f"a fusion cannot be named {pipeline!r}, because the bundle has a pipeline of that "
            f"name; name it {PIPELINE}, for example"
        )
    try:
        check_name(pipeline)
    except BundleError as error:
        raise ExportError(str(error)) from error
    return names
