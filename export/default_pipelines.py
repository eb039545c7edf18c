"""Make the pipelines of a new bundle: which rankers retrieve, which rescore, and how deep."""

from collections.abc import Mapping, Sequence

from ranklet.export.errors import ExportError
from ranklet.runtime.errors import UnknownRankerError
from ranklet.runtime.pipeline.stages import Fuse, Keep, Pipeline, Rescore, Retrieve, Stage
from ranklet.runtime.rankers import KINDS
from ranklet.runtime.storage.checks import Settings
from ranklet.runtime.storage.manifest import RankerEntry

DEPTH = 1000  # of a list from an impact index; Boytsov & Kolter (§4.1) found no gain beyond it
# Of a dense list. The cost of HNSW grows with k, unlike the cost of an impact index, and documents
# below a dense ranker's 200th place have hardly ever been relevant (docs/maintainers/LOG.md).
DENSE_DEPTH = 200
# Documents that a network over each pair reranks; more ranked worse (Boytsov & Kolter, §4.1).
RERANKED = 100
BY_RANKS = "rrf"  # the name of the pipeline that fuses all by ranks


def stages(
    names: Sequence[str], rankers: Mapping[str, RankerEntry], depth: int = DEPTH
) -> tuple[Stage, ...]:
    """Return stages in which rankers with an index retrieve side by side, and the others rescore.

    A ranker that has an index but scores by a network over each pair rescores, so that all its
    scores are the network's. It retrieves only if no other ranker does. So does a ranker that
    retrieves by scoring all documents.

    Args:
        names: of the rankers; the first retriever's list comes first.
        rankers: of the bundle.
        depth: length of a list from an impact index. Dense lists have at most `DENSE_DEPTH`, and
            all lists at most `RERANKED` if one of the rankers runs a network over each pair.

    Raises:
        UnknownRankerError: the bundle has no ranker of some name.
        ExportError: none of the rankers retrieves.
    """
    for name in names:
        if name not in rankers:
            raise UnknownRankerError(
                f"unknown ranker {name!r}; the bundle has {', '.join(rankers)}"
            )
    able = [name for name in names if KINDS[rankers[name].kind].retrieves]
    equal = [name for name in able if not _per_pair(name, rankers)]  # retrieved scores are its own
    wholly = [name for name in equal if not _is_exhaustive(name, rankers)] or equal
    if not able:
        raise ExportError(f"a pipeline of {', '.join(names)}: none of them retrieves")
    if any(_per_pair(name, rankers) for name in names):
        depth = min(depth, RERANKED)
    lists = [
        Retrieve(
            name, depth if KINDS[rankers[name].kind].index == "impacts" else min(depth, DENSE_DEPTH)
        )
        for name in wholly or able
    ]
    return (*lists, *(Rescore(name) for name in names if name not in wholly))


def by_ranks(names: Sequence[str], rankers: Mapping[str, RankerEntry]) -> Pipeline:
    """Return the pipeline that fuses rankers by reciprocal ranks, which needs no weights."""
    return Pipeline((*stages(names, rankers), Fuse("rrf", tuple(names), (1.0,) * len(names))))


def standard_pipelines(rankers: Mapping[str, RankerEntry]) -> tuple[dict[str, Pipeline], str]:
    """Return the pipelines by name, and the name of the default one.

    Every retriever gets a pipeline of its own. Several rankers are fused by reciprocal ranks, until
    `ranklet fuse` learns weights. A ranker that runs a network over each pair is not fused: a
    pipeline of its name reranks the best documents of the others.
    """
    alone = {
        name: Pipeline(stages([name], rankers))
        for name, entry in rankers.items()
        if KINDS[entry.kind].retrieves
    }
    if not alone:
        return {}, ""
    networks = [name for name in rankers if _per_pair(name, rankers)]
    indexed = [name for name in alone if name not in networks]
    indexed.sort(key=lambda name: _is_exhaustive(name, rankers))
    first = default = next(iter(indexed or alone))
    rerankers = [name for name in networks if name != first]
    names = (first, *(name for name in rankers if name != first and name not in rerankers))
    pipelines = dict(alone)
    if len(names) > 1:
        pipelines[BY_RANKS], default = by_ranks(names, rankers), BY_RANKS
    candidates = pipelines[default].stages
    for name in rerankers:
        pipelines[name] = Pipeline((*candidates, Keep(RERANKED), Rescore(name)))
    return pipelines, rerankers[0] if rerankers else default


def _is_exhaustive(name: str, rankers: Mapping[str, RankerEntry]) -> bool:
    return KINDS[rankers[name].kind].index == "exhaustive"


def _per_pair(name: str, rankers: Mapping[str, RankerEntry]) -> bool:
    settings: Settings = rankers[name].read_settings(name)
    return settings.per_pair
