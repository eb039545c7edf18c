"""The systems: every ranker alone, the untrained hybrid, and candidates for the best pipelines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.all_systems.studies import BM25, Ranker, Reads
from ranklet.export.default_fusion import measured_spreads, shares_of, weights_of
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipeline import Fuse, Keep, Pipeline, Rescore, Retrieve, Stage

RERANKED = 100  # of BM25's, and what a cross-encoder reads at the end
DEPTH = 200  # of each list of a pipeline
HYBRID_RANKER = "minilm"
BASE, HYBRID = "BM25", "BM25 + MiniLM untrained"
CROSS = "cross"
BEST = {
    Reads.NOTHING: "best without a network",
    Reads.QUERY: "best with one encoder",
    Reads.PAIRS: "best with a cross-encoder last",
}
LAST = "last"  # the name of the fusion with a cross-encoder


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


class Candidate(NamedTuple):
    """A fusion that may be chosen.

    Attributes:
        members: names of rankers, BM25 first.
        method: ``linear`` with weights that are learned, or ``rrf``.
    """

    members: tuple[str, ...]
    method: str


NO_NETWORK = (
    ("model1",),
    ("neural_model1",),
    ("model1", "neural_model1"),
    ("light",),
    ("ndrm3",),
    ("model1", "neural_model1", "light"),
    ("model1", "neural_model1", "ndrm3"),
    ("model1", "neural_model1", "light", "ndrm3"),
)
BY_RANKS = (("light",), ("ndrm3",), ("light", "ndrm3"))
ENCODERS = ("minilm", "dense", "averaged", "own", "epic", "colbert")
# Next to each encoder.
WITH_ENCODER = (("model1",), ("model1", "neural_model1", "light", "ndrm3"))


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
    weights = weights_of(measured_spreads(bundle, names), shares_of(bundle.manifest.rankers))
    chosen = Candidate(names, "linear")
    pipeline = recipe(chosen, tuple(weights[name] for name in names), rankers)
    return [System(HYBRID, pipeline, rankers[HYBRID_RANKER].reads)]


def candidates(reads: Reads, rankers: Iterable[str]) -> list[Candidate]:
    """Return the fusions that may be chosen where networks read nothing, or a query once."""
    known = set(rankers)
    if reads == Reads.NOTHING:
        found = [Candidate((BM25, *others), "linear") for others in NO_NETWORK]
        found += [Candidate((BM25, *others), "rrf") for others in BY_RANKS]
    else:
        found = [
            Candidate((BM25, each), method) for each in ENCODERS for method in ("rrf", "linear")
        ]
        found += [
            Candidate((BM25, *others, each), "linear")
            for others in WITH_ENCODER
            for each in ENCODERS
        ]
    return [each for each in found if known.issuperset(each.members)]


def retrievers(members: Iterable[str], rankers: Mapping[str, Ranker]) -> list[str]:
    """Return the members that retrieve in a pipeline, which need not score all documents."""
    return [name for name in members if KINDS[rankers[name].kind].index in ("impacts", "vectors")]


def gathered(members: Iterable[str], rankers: Mapping[str, Ranker]) -> tuple[Stage, ...]:
    """Return stages in which members retrieve side by side, and the others rescore."""
    members = tuple(members)
    first = retrievers(members, rankers)
    rest = [name for name in members if name not in first]
    return (*(Retrieve(name, DEPTH) for name in first), *(Rescore(name) for name in rest))


def recipe(
    chosen: Candidate, weights: tuple[float, ...], rankers: Mapping[str, Ranker]
) -> Pipeline:
    """Return the pipeline of a fusion."""
    stages = gathered(chosen.members, rankers)
    return Pipeline((*stages, Fuse(chosen.method, chosen.members, rounded(weights))))


def reread(first: Pipeline) -> Pipeline:
    """Return a pipeline whose first documents a cross-encoder reads, to order them alone."""
    return Pipeline((*first.stages, Keep(RERANKED), Rescore(CROSS)))


def fused_with_cross(first: Pipeline, weights: tuple[float, ...]) -> Pipeline:
    """Return the same, fused with the scores that the documents had before."""
    fuse = Fuse("linear", (column(first), CROSS), rounded(weights), LAST)
    return Pipeline((*reread(first).stages, fuse))


def column(pipeline: Pipeline) -> str:
    """Return the name of the scores that a pipeline ranks by."""
    last = pipeline.stages[-1]
    if isinstance(last, Fuse):
        return last.name
    return pipeline.rankers()[-1]


def told(chosen: Candidate, weights: tuple[float, ...], rankers: Mapping[str, Ranker]) -> str:
    """Return a fusion in words, with its weights if it has any."""
    labels = [rankers[name].label for name in chosen.members]
    if chosen.method == "rrf":
        return f"{' + '.join(labels)}, by ranks"
    return " + ".join(f"{w:.2g} · {name}" for w, name in zip(weights, labels, strict=True))


def rounded(weights: tuple[float, ...]) -> tuple[float, ...]:
    """Return weights as a bundle stores them."""
    return tuple(round(each, 6) for each in weights)
