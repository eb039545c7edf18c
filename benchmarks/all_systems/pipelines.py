"""The systems: every ranker alone, the untrained hybrid, and the best pipelines."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.all_systems.studies import BM25, Ranker, Reads
from ranklet.corpus.building.default_fusion import compute_shares, measure_spreads, take_weights
from ranklet.corpus.building.default_pipelines import RERANKED, stages
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Fuse, Pipeline, Rescore, Retrieve
from ranklet.workflows.learn.weighing import DEPTH

HYBRID_RANKER = "minilm"
BASE, HYBRID = "BM25", "BM25 + MiniLM untrained"
CROSS = "cross"
BEST = {
    Reads.NOTHING: "best without a network",
    Reads.QUERY: "best with one encoder",
    Reads.PAIRS: "best with a cross-encoder last",
}


@dataclass(frozen=True)
class System:
    """What is measured.

    Attributes:
        name: of its row.
        pipeline: of a bundle with all rankers.
        reads: what networks read for a query.
        told: what was chosen; empty where nothing was.
    """

    name: str
    pipeline: Pipeline
    reads: Reads
    told: str = ""

    @property
    def chosen(self) -> bool:
        """Whether its members were chosen on held-out queries."""
        return bool(self.told)


def alone(rankers: Mapping[str, Ranker]) -> list[System]:
    """Return each ranker as a reranker and, if it has an index, as a retriever."""
    first = Retrieve(BM25, RERANKED)
    found = [System(BASE, Pipeline((first,)), Reads.NOTHING)]
    for name, each in rankers.items():
        if name == BM25:
            continue
        reranking = Pipeline((first, Rescore(name)))
        found.append(System(f"{each.label} on BM25's first {RERANKED}", reranking, each.reads))
        if KINDS[each.kind].retrieves:
            retrieving = Pipeline((Retrieve(name, RERANKED),))
            found.append(System(f"{each.label} retrieves", retrieving, each.reads))
    return found


def hybrids(bundle: Bundle, rankers: Mapping[str, Ranker]) -> list[System]:
    """Return the hybrid that `ranklet build --model` makes by default, if its encoder is there."""
    if HYBRID_RANKER not in rankers:
        return []
    names = (BM25, HYBRID_RANKER)
    weights = take_weights(measure_spreads(bundle, names), compute_shares(bundle.manifest.rankers))
    shares = tuple(round(weights[name], 6) for name in names)
    lists = stages(names, bundle.manifest.rankers, DEPTH)
    pipeline = Pipeline((*lists, Fuse("linear", names, shares)))
    return [System(HYBRID, pipeline, rankers[HYBRID_RANKER].reads)]
