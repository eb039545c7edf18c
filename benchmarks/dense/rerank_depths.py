"""How many documents a cross-encoder should read, after BM25, a dense encoder, and both.

Zhan et al., Table 2: the better the first list, the fewer documents need to be read. The documents
that are not read follow in their first order.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope, bundle_of, digest_of, searched_in, slug
from benchmarks.all_systems.choosing import SCORING
from benchmarks.all_systems.pipelines import CROSS
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import BM25, QA_MIX
from benchmarks.harness.evenly import evenly
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.judging import values_of
from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.pipeline import Fuse, Pipeline, Rescore, Retrieve, Stage
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark

PACKAGES = ("torch", "transformers", "onnxruntime", "gensim")
DENSE = "dense"
READ = (0, 5, 10, 20, 50, 100, 200, 500)  # documents of a list that are read
QUERIES = 150
MEASURE = "MRR@10"
FIRST = {"BM25": (BM25,), "MiniLM trained": (DENSE,), "both, by reciprocal ranks": (BM25, DENSE)}
CODE = (*SCORING, "benchmarks/dense/rerank_depths.py")
Listed = dict[str, Any]  # of a query: "scores" by document, and "lists" by name


def run(place: Place) -> str:
    """Score what is not kept, and compare how much is read."""
    used = (BM25, DENSE, CROSS)
    scope = Scope(place, rankers={name: RANKERS[name] for name in used}, name="depths")
    searched = searched_in(scope, QA_MIX)
    queries = [searched.queries[at] for at in evenly(len(searched.queries), QUERIES)]
    return section(queries, found(scope, QA_MIX, queries), len(searched.passages))


def found(scope: Scope, study: str, queries: Sequence[JudgedQuery]) -> list[Listed]:
    """Return the lists of each query, and the cross-encoder's score of all of their documents."""
    path = bundle_of(scope, study)
    described = [
        digest_of(BundleFiles(path), (BM25, DENSE, CROSS)),
        max(READ),
        [list(each) for each in queries],
    ]
    digest = sha256(json.dumps(described).encode()).hexdigest()[:12]

    def build(target: Path) -> None:
        with one_thread():
            bundle = runtime.load(path, device="cpu")
            target.write_text(json.dumps([_listed(bundle, each.text) for each in queries]))

    name = slug("all", study, digest, "depths", "json")
    content: list[Listed] = json.loads(scope.place.keep(name, build, CODE).read_text())
    return content


def _listed(bundle: runtime.Bundle, query: str) -> Listed:
    pipelines = {name: _first(members) for name, members in FIRST.items()}
    lists = {
        name: [id_ for id_, _ in bundle.rank_ids(query, k=max(READ), pipeline=pipeline)]
        for name, pipeline in pipelines.items()
    }
    everything = Pipeline(
        (
            *(Retrieve(name, max(READ)) for name in (BM25, DENSE)),
            Rescore(CROSS),
            Fuse("rrf", (BM25, DENSE), (1.0, 1.0)),  # its scores are not used
        )
    )
    ids, scores = bundle.features(query, pipeline=everything)
    return {"lists": lists, "scores": dict(zip(ids, scores[CROSS].tolist(), strict=True))}


def _first(members: tuple[str, ...]) -> Pipeline:
    """Return the pipeline of a first list."""
    stages: tuple[Stage, ...] = tuple(Retrieve(name, max(READ)) for name in members)
    if len(members) > 1:
        stages = (*stages, Fuse("rrf", members, (1.0,) * len(members)))
    return Pipeline(stages)


def reread(ids: Sequence[str], scores: Mapping[str, float], most: int) -> list[str]:
    """Return a list whose first documents are ordered by a cross-encoder.

    >>> reread(["a", "b", "c"], {"a": 0.1, "b": 0.7, "c": 0.9}, 2)
    ['b', 'a', 'c']
    """
    read = sorted(ids[:most], key=lambda id_: -scores[id_])
    return [*read, *ids[most:]]


def section(queries: Sequence[JudgedQuery], listed: Sequence[Listed], passages: int) -> str:
    """Return the tables of some queries, whose lists come from so many passages."""
    values: dict[str, dict[int, NDArray[np.float64]]] = {}
    for name in FIRST:
        values[name] = {}
        for most in READ:
            lists = [reread(each["lists"][name], each["scores"], most) for each in listed]
            falling = [-np.arange(len(each), dtype=np.float32) for each in lists]
            values[name][most] = values_of(queries, lists, falling, [MEASURE])[MEASURE]
    return f"""
{len(queries)} dev queries of qa-mix, {passages:,} passages, lists of {max(READ):,}; all int8, as \
served.

{_means(values)}

Against a list that nothing was read of: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's \
correction in each row).

{_gains(values)}
"""


def _means(values: Mapping[str, Mapping[int, NDArray[np.float64]]]) -> str:
    """Return the measure by first list and number of documents that are read."""
    rows = []
    for name, own in values.items():
        series = {str(most): each for most, each in own.items()}
        pairs = [(str(most), str(READ[0])) for most in READ[1:]]
        marks = {each.first: mark(each.p_holm) for each in compare(series, pairs=pairs)}
        rows.append([name, *(f"{own[m].mean():.4f}{marks.get(str(m), '')}" for m in READ)])
    return table([f"{MEASURE} of the first list", *(f"{m:,} read" for m in READ)], rows)


def _gains(values: Mapping[str, Mapping[int, NDArray[np.float64]]]) -> str:
    """Return what the better lists gain on BM25's, by the number of documents that are read."""
    base, *others = FIRST
    rows = [
        [name, *(shown(difference(values[name][most], values[base][most])) for most in READ)]
        for name in others
    ]
    return table([f"gain on {base}'s list (95 %)", *(f"{m:,} read" for m in READ)], rows)
