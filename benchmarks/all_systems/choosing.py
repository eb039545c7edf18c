"""Choose the members and weights of pipelines on held-out queries of train."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems import pipelines
from benchmarks.all_systems.bundles import Scope, bundle_of, digest_of, searched_in, slug
from benchmarks.all_systems.pipelines import BEST, CROSS, Candidate, System
from benchmarks.all_systems.studies import BM25, Ranker, Reads
from benchmarks.harness.evenly import evenly
from benchmarks.harness.remembering import Memory, remember
from ranklet import runtime
from ranklet.export.learning.choosing import Pool, listed
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.execution import fusion
from ranklet.runtime.pipeline import Fuse, Pipeline, Retrieve
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.measures import Judged
from ranklet.training.tuning.coordinate_ascent import coordinate_ascent
from ranklet.training.tuning.cross_validation import held_out
from ranklet.training.tuning.judged_candidates import judged_lists

MEASURE, RESTARTS = "MRR@10", 2
MATCHING = ("bm25", "epic")  # kinds whose lists have no document with a score of 0
SCORING = (
    *(f"runtime/{name}" for name in ("call", "dense", "execution", "lexical", "onnx")),
    *(f"runtime/{name}" for name in ("pipeline.py", "rankers", "text")),
    "benchmarks/all_systems/pipelines.py",
)
CODE = (
    *SCORING,
    "training/tuning",
    "export/learning/choosing.py",
    "benchmarks/all_systems/choosing.py",
)


class Choice(NamedTuple):
    """What was chosen.

    Attributes:
        at: its number among the candidates.
        weights: learned on all queries.
        value: its cross-validated measure.
    """

    at: int
    weights: tuple[float, ...]
    value: float


Features = list[tuple[list[str], NDArray[np.float32]]]  # ids and features of each query's documents


def best_pipelines(scope: Scope, study: str) -> list[System]:
    """Return the best pipeline of each class; what was chosen is kept."""
    files = BundleFiles(bundle_of(scope, study))
    here = searched_in(scope, study)
    used, pairs = scope.rankers_of(study), scope.studies[study].pairs
    told = [digest_of(files, used), [list(each) for each in here.held_out], pairs]
    digest = sha256(json.dumps(told).encode()).hexdigest()[:12]

    def build(path: Path) -> None:
        path.write_text(json.dumps(_chosen(scope, study)))

    name = slug("all", study, digest, "choice", "json")
    found = json.loads(scope.place.keep(name, build, CODE).read_text())
    systems = []
    for each in found:
        reads, recipe = Reads(each["reads"]), Pipeline.from_json(each["pipeline"])
        systems.append(System(BEST[reads], recipe, reads, each["told"]))
    return systems


def _chosen(scope: Scope, study: str) -> list[dict[str, Any]]:
    """Return the best pipelines as plain values."""
    bundle = runtime.load(bundle_of(scope, study), device="cpu")
    rankers, queries = scope.rankers_of(study), searched_in(scope, study).held_out
    found: dict[Reads, tuple[Pipeline, str]] = {}
    for reads in (Reads.NOTHING, Reads.QUERY):
        tried = pipelines.candidates(reads, rankers)
        if tried:
            pools = [pooled(bundle, query.text, tried, rankers) for query in queries]
            choice = choose(queries, [features(pools, each, rankers) for each in tried])
            chosen = tried[choice.at]
            weights = choice.weights if chosen.method == "linear" else (1.0,) * len(chosen.members)
            recipe = pipelines.recipe(chosen, weights, rankers)
            found[reads] = recipe, pipelines.told(chosen, weights, rankers)
    if CROSS in rankers:
        firsts = [(Pipeline((Retrieve(BM25, pipelines.RERANKED),)), rankers[BM25].label)]
        firsts += [(recipe, BEST[reads]) for reads, (recipe, _) in found.items()]
        some = [queries[at] for at in evenly(len(queries), scope.studies[study].pairs)]
        found[Reads.PAIRS] = _with_cross(bundle, some, firsts)
    return [
        {"reads": int(reads), "pipeline": recipe.to_json(), "told": told}
        for reads, (recipe, told) in found.items()
    ]


def _with_cross(
    bundle: runtime.Bundle, queries: Sequence[JudgedQuery], firsts: Sequence[tuple[Pipeline, str]]
) -> tuple[Pipeline, str]:
    """Return the best pipeline in which a cross-encoder is last, and what it is, in words."""
    memory: Memory = {}
    remember(bundle, CROSS, memory)
    tried: list[Features] = []
    for first, _ in firsts:
        both: Features = []
        for query in queries:
            ids, scores = bundle.features(query.text, pipeline=pipelines.reread(first))
            names = (pipelines.column(first), CROSS)
            both.append((ids, np.column_stack([scores[name] for name in names])))
        tried += [[(ids, each[:, 1:]) for ids, each in both], both]
    choice = choose(queries, tried)
    first, told = firsts[choice.at // 2]
    if choice.at % 2 == 0:
        return pipelines.reread(first), f"{told}, then the cross-encoder alone"
    before, after = choice.weights
    words = f"{before:.2g} · {told} + {after:.2g} · cross-encoder"
    return pipelines.fused_with_cross(first, choice.weights), words


def pooled(
    bundle: runtime.Bundle, query: str, tried: Sequence[Candidate], rankers: Mapping[str, Ranker]
) -> Pool:
    """Return all documents that a retriever among the members finds, scored by all members."""
    members = tuple(dict.fromkeys(name for each in tried for name in each.members))
    stages = pipelines.gathered(members, rankers)
    # Its scores are not used. It lets several lists become one.
    merged = Pipeline((*stages, Fuse("rrf", members, (1.0,) * len(members))))
    ids, scores = bundle.features(query, pipeline=merged)
    return Pool(ids, scores)


def features(
    pools: Sequence[Pool], candidate: Candidate, rankers: Mapping[str, Ranker]
) -> Features:
    """Return the documents that a candidate's own retrievers find, and what it adds up.

    The features of a linear fusion are its members' scores. Reciprocal ranks are one feature.
    """
    first = pipelines.retrievers(candidate.members, rankers)
    found: Features = []
    for pool in pools:
        lists = {
            name: listed(pool.scores[name], pipelines.DEPTH, rankers[name].kind in MATCHING)
            for name in first
        }
        kept = np.logical_or.reduce(list(lists.values()))
        columns = {name: pool.scores[name][kept] for name in candidate.members}
        ids = [name for name, own in zip(pool.ids, kept.tolist(), strict=True) if own]
        if candidate.method == "linear":
            found.append((ids, np.column_stack(list(columns.values()))))
            continue
        for name, own in lists.items():
            columns[name] = np.where(own[kept], columns[name], np.float32(np.nan))
        ranks = np.stack([fusion.ranks(each) for each in columns.values()])
        fused = fusion.reciprocal_ranks(ranks, (1.0,) * len(ranks))
        found.append((ids, fused[:, None]))
    return found


def choose(queries: Sequence[JudgedQuery], tried: Sequence[Features]) -> Choice:
    """Return the candidate with the best cross-validated measure, with weights of all queries.

    The first of equal ones is chosen.
    """
    values = [cross_validated(queries, each) for each in tried]
    at = int(np.argmax(values))
    return Choice(at, learned(_judged(queries, tried[at])), values[at])


def cross_validated(queries: Sequence[JudgedQuery], of_queries: Features) -> float:
    """Return the mean measure of queries whose own fold was left out when weights were learned."""
    judged = _judged(queries, of_queries)
    return float(held_out(judged, MEASURE, restarts=RESTARTS).mean())


def learned(judged: Judged) -> tuple[float, ...]:
    """Return the weights that rank best; a single feature has 1."""
    if judged.features.shape[2] == 1:
        return (1.0,)
    return coordinate_ascent(judged, MEASURE, restarts=RESTARTS).weights


def _judged(queries: Sequence[JudgedQuery], of_queries: Features) -> Judged:
    ids, columns = zip(*of_queries, strict=True)
    return judged_lists(queries, ids, columns)
