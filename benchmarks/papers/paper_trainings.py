"""What the papers' rankers reach by longer trainings on a GPU.

A training is kept as soon as it is measured, so a run that was stopped goes on where it was.
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.place import MissingDataError, Place
from benchmarks.papers import last_stage, light, students, translation
from benchmarks.papers.comparing import section
from benchmarks.papers.plans import BM25, SEEDS, UNTITLED, Training, Values, planned
from benchmarks.papers.searched import Lists, Trained, asked_of
from benchmarks.papers.trained_rankers import on_terms, pairwise, searching
from benchmarks.quality.fidelity import wheel_splade
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.measures import Judged, parse_measure, per_query
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.rankers.bm25 import BM25Settings

PACKAGES = ("torch", "transformers")
TOGETHER = 5
MINUTES = float(os.environ.get("RANKLET_PAPERS_MINUTES", "20"))  # of each training
ONLY = os.environ.get("RANKLET_PAPERS_KINDS", "")  # kinds of trainings to run; all if it is empty
LEARN, TUNE = "train[:90%]", "train[90%:]"
SPLITS = {"scifact": "test"}  # its dev has 95 queries
MEASURES = ("MRR@10", "nDCG@10", "R@1000")
WAIT_FOR = {"teachers", "goes_on"}  # what other trainings make
TUNED = {
    "qa-mix": BM25Settings("lemmas", k1=0.3, b=0.75),
    "medquad": BM25Settings("lemmas", k1=0.1, b=0.6),
}
TRAIN = {
    "terms": on_terms, "dense": searching, "cross_encoder": pairwise,
    "last_stage": last_stage.train, "student": students.train,
    "translation": translation.train, "light": light.train,
}  # fmt: skip


def run(place: Place) -> str:
    """Train and measure what is not kept, several at a time.

    Raises:
        MissingDataError: PyTorch has no GPU here, or a collection is not there.
    """
    import torch

    if not torch.cuda.is_available():
        raise MissingDataError("these trainings need a GPU that PyTorch can use")
    plans = [plan for plan in planned() if plan.kind in ONLY.split(",") or not ONLY]
    plans.sort(key=lambda plan: not WAIT_FOR.isdisjoint(plan.options))
    with ProcessPoolExecutor(TOGETHER, get_context("spawn")) as pool:
        return section(list(zip(plans, pool.map(partial(kept, place), plans), strict=True)))


def kept(place: Place, plan: Training) -> dict[str, Any]:
    """Return what `measured` returns, from its file if it was measured before."""

    def build(path: Path) -> None:
        path.write_text(json.dumps(measured(place, plan)), "utf-8")

    name = f"papers.{plan.name}.{plan.seed}.json".replace(" ", "_")
    found: dict[str, Any] = json.loads(place.keep(name, build, given=str(plan)).read_text("utf-8"))
    return found


def measured(place: Place, plan: Training) -> dict[str, Any]:
    """Train a ranker; return the facts of its training, and values by collection."""
    import torch

    collection, titles = place.collection(plan.learns), plan.learns not in UNTITLED
    learn, held_out = (
        [query for query in each if not (plan.without and _any(query, plan.without))]
        for each in (read_split(collection, LEARN), read_split(collection, TUNE, limit=1000))
    )
    batch = plan.options.get("batch", 6 if plan.kind == "cross_encoder" else len(learn))
    drawn = np.random.default_rng(plan.seed).permutation(len(learn))[: batch * plan.steps]
    learn = [learn[at] for at in np.sort(drawn)]  # because finding negatives takes its time
    options = dict(plan.options)
    for option in {"saves", "goes_on", "oracle"} & options.keys():
        name = f"papers.{options[option]}.{plan.seed}".replace(" ", "_")
        options[option] = place.work / name
    if options.get("backbone") == "wheel":
        options["backbone"] = wheel_splade()
    saves = options.pop("saves", None)
    scores = [str(place.work / f"papers.teacher.{seed}.run") for seed in SEEDS]
    if options.get("loss") == "softmax" and plan.kind == "last_stage":
        options["teaches"] = scores[SEEDS.index(plan.seed)]
    if "teachers" in options:
        options["teachers"] = scores
    trained = TRAIN[plan.kind](
        (collection, learn, held_out),
        {
            "bm25": TUNED.get(plan.learns, BM25Settings()), "titles": titles, "seed": plan.seed,
            "steps": plan.steps, "max_minutes": MINUTES, "evaluations": 6, **options,
        },
    )  # fmt: skip
    if saves is not None:
        trained.checkpoint.save(saves)
    on_gpu, report = torch.cuda.is_available(), trained.checkpoint.training
    return {
        "machine": f"one {torch.cuda.get_device_name()}" if on_gpu else "processors",
        "minutes": report["seconds"] / 60,
        "steps": report.get("steps", 0),
        "chosen": dict(trained.chosen),
        "values": {name: _values(place, name, trained, plan.asks) for name in plan.ranks},
    }


def _values(place: Place, name: str, trained: Trained, asks: int) -> Values:
    collection, titles = place.collection(name), name not in UNTITLED
    queries = read_split(collection, SPLITS.get(name, "dev"), limit=asks)
    asked = asked_of(collection, queries, TUNED.get(name, BM25Settings()), titles=titles)
    lists = {BM25: asked.found, **trained.rank(asked)}
    return {each: _of_lists(asked.analysed, queries, own) for each, own in lists.items()}


def _of_lists(
    analysed: AnalysedCollection, queries: Sequence[JudgedQuery], lists: Lists
) -> dict[str, dict[str, float]]:
    graded = [
        grades(analysed, query, numbers.astype(np.uint32))
        for query, numbers in zip(queries, lists, strict=True)
    ]
    ranks = [-np.arange(len(numbers), dtype=np.float32)[:, None] for numbers in lists]
    judged = Judged.from_lists(ranks, [hit for hit, _ in graded], [lost for _, lost in graded])
    scores, ids = judged.scores(np.ones(1)), [query.id for query in queries]
    return {
        name: dict(zip(ids, per_query(judged, scores, parse_measure(name)).tolist(), strict=True))
        for name in MEASURES
    }


def _any(query: JudgedQuery, prefix: str) -> bool:
    return any(document.startswith(prefix) for document in query.relevant)
