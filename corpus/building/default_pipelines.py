"""Make the pipelines of a new bundle: which rankers retrieve, which rescore, and how deep."""

from collections.abc import Mapping, Sequence

from ranklet.corpus.errors import BuildError
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.ground.errors import UnknownRankerError
from ranklet.runtime.kinds import KINDS, Settings
from ranklet.runtime.pipelines.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve, Stage

DEPTH = 1000  # of a list from an impact index; Boytsov & Kolter (§4.1) found no gain beyond it
# Of a dense list. The cost of HNSW grows with k, unlike the cost of an impact index, and documents
# below a dense ranker's 200th place have hardly ever been relevant (docs/maintainers/log).
DENSE_DEPTH = 200
# Lists where a table encodes queries, because a query by words takes no longer than longer lists.
# No query of train lost by them (`python -m benchmarks query_table`).
QUICK_DEPTH, QUICK_DENSE_DEPTH = 100, 30
# Documents that a network over each pair reranks; more ranked worse (Boytsov & Kolter, §4.1).
RERANKED = 100
SUM, BY_RANKS = "sum", "rrf"  # pipelines that fuse all retrievers, by scores and by ranks


def stages(
    names: Sequence[str], rankers: Mapping[str, RankerEntry], depth: int = DEPTH
) -> tuple[Stage, ...]:
    """Return stages in which rankers with an index retrieve side by side, and the others rescore.

    A ranker that has an index but scores by a network over each pair rescores, so that all its
    scores are the network's. It retrieves only if no other ranker does. So does a ranker that
    retrieves by scoring all documents.

    Args:
        names: the rankers' names; the first retriever's list comes first.
        rankers: the bundle's rankers.
        depth: length of a list from an impact index. Dense lists have at most `DENSE_DEPTH`, and
            all lists at most `RERANKED` if one of the rankers runs a network over each pair. Lists
            beside a table of queries have at most `QUICK_DEPTH` and `QUICK_DENSE_DEPTH`.

    Raises:
        UnknownRankerError: the bundle has no ranker of some name.
        BuildError: none of the rankers retrieves.
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
        raise BuildError(f"a pipeline of {', '.join(names)}: none of them retrieves")
    if any(_per_pair(name, rankers) for name in names):
        depth = min(depth, RERANKED)
    quick = len(able) > 1 and any(rankers[name].read_settings(name).by_tokens for name in able)
    most, dense = (QUICK_DEPTH, QUICK_DENSE_DEPTH) if quick else (depth, DENSE_DEPTH)
    depth = min(depth, most)
    lists = [
        Retrieve(name, depth if KINDS[rankers[name].kind].index == "impacts" else min(depth, dense))
        for name in wholly or able
    ]
    return (*lists, *(Rescore(name) for name in names if name not in wholly))


def list_fused_rankers(rankers: Mapping[str, RankerEntry]) -> list[str]:
    """Return the names of the rankers that a fusion without judgements adds up.

    These are the retrievers. A ranker that only rescores, such as Model 1, is weak alone, so an
    equal part in the sum would cost more than it brings until `ranklet learn` learns its weight. A
    ranker that runs a network over each pair reranks instead.
    """
    names = [
        name
        for name, entry in rankers.items()
        if KINDS[entry.kind].retrieves and not _per_pair(name, rankers)
    ]
    return sorted(names, key=lambda name: _is_exhaustive(name, rankers))


def standard_pipelines(
    rankers: Mapping[str, RankerEntry],
    weights: Mapping[str, float] | None = None,
    fusion: str = SUM,
) -> tuple[dict[str, Pipeline], str]:
    """Return the pipelines by name, and the name of the default one.

    Every retriever gets a pipeline of its own, and all of them together one that adds up their
    scores and one that adds up their reciprocal ranks. A ranker that runs a network over each pair
    gets a pipeline that reranks the best documents of these.

    Args:
        rankers: the bundle's rankers.
        weights: the weights of the rankers that are fused, by name; None for equal ones.
        fusion: which of the two fusions is the default, `SUM` or `BY_RANKS`.
    """
    alone = {
        name: Pipeline(stages([name], rankers))
        for name, entry in rankers.items()
        if KINDS[entry.kind].retrieves
    }
    if not alone:
        return {}, ""
    if weights is None:
        names = list_fused_rankers(rankers)
        weights = dict.fromkeys(names, 1 / max(1, len(names)))
    default = next(iter(weights), next(iter(alone)))
    pipelines = dict(alone)
    if len(weights) > 1:
        lists, members = stages(list(weights), rankers), tuple(weights)
        pipelines[SUM] = Pipeline((*lists, Fuse("linear", members, tuple(weights.values()))))
        pipelines[BY_RANKS] = Pipeline((*lists, Fuse("rrf", members, (1.0,) * len(members))))
        default = fusion
    first, candidates = default, pipelines[default].stages
    last = [name for name in rerankers(rankers) if name != first]
    for name in last:
        pipelines[name] = Pipeline((*candidates, Keep(RERANKED), Rescore(name)))
    return pipelines, last[0] if last else default


def complete_pipelines(manifest: Manifest) -> dict[str, Pipeline]:
    """Return a bundle's pipelines, and one of each ranker that has none of its own name.

    A ranker that only rescores does so for all that the default pipeline retrieves, and alone says
    what is better.
    """
    known, rankers = dict(manifest.pipelines), manifest.rankers
    first = [each for each in known[manifest.default_pipeline].stages if isinstance(each, Retrieve)]
    for name in rankers:
        able = KINDS[rankers[name].kind].retrieves
        own = [name] if able else [*(each.ranker for each in first), name]
        alone = [0.0] * (len(own) - 1) + [1.0]
        fuse = [Fuse("linear", tuple(own), tuple(alone))] if len(own) > 2 else []  # of lists
        known.setdefault(name, Pipeline((*stages(own, rankers), *fuse)))
    return known


def rerankers(rankers: Mapping[str, RankerEntry]) -> list[str]:
    """Return the names of the rankers that run a network over each pair."""
    return [name for name in rankers if _per_pair(name, rankers)]


def _is_exhaustive(name: str, rankers: Mapping[str, RankerEntry]) -> bool:
    return KINDS[rankers[name].kind].index == "exhaustive"


def _per_pair(name: str, rankers: Mapping[str, RankerEntry]) -> bool:
    settings: Settings = rankers[name].read_settings(name)
    return settings.per_pair
