"""What the papers' rankers reach by longer trainings on a GPU.

A training is kept as soon as it is measured, so a run that was stopped goes on where it was.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import table
from benchmarks.papers import last_stage, students
from benchmarks.papers.searched import Lists, Trained, asked_of
from benchmarks.papers.trained_rankers import on_terms, pairwise, searching
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.evaluation.significance import holm, interval, paired_t_test
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.tuning.judged_candidates import grades

PACKAGES = ("torch", "transformers")
TOGETHER, SEEDS = 5, (0, 1, 2)
MINUTES = float(os.environ.get("RANKLET_PAPERS_MINUTES", "20"))  # of each training
ONLY = os.environ.get("RANKLET_PAPERS_KINDS", "")  # kinds of trainings to run; all if it is empty
LEARN, TUNE, MOST = "train[:90%]", "train[90%:]", 1000  # queries of dev
MEASURES = ("MRR@10", "nDCG@10", "R@1000")
BM25 = "BM25"
TUNED = {
    "qa-mix": BM25Settings("lemmas", k1=0.3, b=0.75),
    "medquad": BM25Settings("lemmas", k1=0.1, b=0.6),
}
UNTITLED = ("medquad",)  # its titles hold the questions
TRAIN = {
    "terms": on_terms, "dense": searching, "cross_encoder": pairwise,
    "last_stage": last_stage.train, "student": students.train,
}  # fmt: skip
STUDENTS = {"ColBERT": "colbert", "EPIC": "epic", "SPLADE": "splade"}
POWER = 2.80  # standard errors that a two-sided test at .05 sees in 80 of 100 cases
Values = dict[str, dict[str, dict[str, float]]]  # by system, by measure, by query


class Training(NamedTuple):
    """A ranker to train, what it is measured on, and what it is compared with there."""

    name: str
    kind: str
    options: Mapping[str, Any]
    learns: str
    ranks: tuple[str, ...]
    steps: int
    against: tuple[str, ...] = (BM25,)
    seed: int = 0


def planned() -> list[Training]:
    """Return all trainings, those of the first seed first."""
    medquad, qa_mix = ("medquad", ("medquad",), 20_000), ("qa-mix", ("qa-mix",), 8_000)
    unseen = ("qa-mix", ("medquad", "scifact", "google-wiki", "debian-packages"), 8_000)
    same, apart, unmarked = "margin, same segments", "margin, distinct segments", "no marks"
    margin, softmax = ({"loss": loss, "segments": "same"} for loss in ("margin", "softmax"))
    plans = [
        Training("NDRM1", "terms", {"architecture": "ndrm1"}, *medquad, (BM25, "NDRM3", "TK")),
        Training("NDRM3", "terms", {"architecture": "ndrm3"}, *medquad),
        Training("TK", "terms", {"architecture": "tk"}, *medquad),
        Training(
            "NDRM1, authors' form", "terms", {"architecture": "ndrm1", "form": "authors"},
            *medquad, (BM25, "NDRM1"),
        ),
        Training(same, "dense", margin, *qa_mix),
        Training(apart, "dense", margin | {"segments": "distinct"}, *qa_mix, (BM25, same)),
        Training("softmax", "dense", softmax, *qa_mix, (BM25, same)),
        Training(unmarked, "cross_encoder", {"marking": "none"}, *unseen),
        Training("Sim-Pair", "cross_encoder", {"marking": "sim_pair"}, *unseen, (BM25, unmarked)),
        Training("Pre-Pair", "cross_encoder", {"marking": "pre_pair"}, *unseen, (BM25, unmarked)),
    ]  # fmt: skip
    own, vanilla = ("qa-mix", ("qa-mix", "medquad"), 8_000), "head vanilla"
    plans += [
        Training(f"head {head}", "cross_encoder", {"head": head}, *own,
                 (BM25, vanilla) if head != "vanilla" else (BM25,))
        for head in ("vanilla", "model1", "cedr_knrm")
    ]  # fmt: skip
    plans += [
        Training(f"NDRM3 of {name}", "terms", {"architecture": "ndrm3"}, name, (name,), 20_000)
        for name in ("qa-mix", "debian-packages")
    ]
    last = ("qa-mix", ("qa-mix", "medquad", "scifact", "debian-packages"), 1_500)
    hybrid = (last_stage.HYBRID, BM25)
    plans += [
        Training("last, softmax", "last_stage", {"loss": "softmax"}, *last, hybrid),
        Training("last, margin", "last_stage", {"loss": "margin"}, *last,
                 (*hybrid, "last, softmax")),
    ]  # fmt: skip
    for name, kind in STUDENTS.items():
        learns, alone = ("qa-mix", ("qa-mix",), 1_000), f"{name}, judgements"
        several = f"{alone}, seven negatives"
        plans += [
            Training(alone, "student", {"kind": kind}, *learns),
            Training(several, "student", {"kind": kind, "negatives_each": 7}, *learns,
                     (BM25, alone)),
            Training(f"{name}, teachers", "student",
                     {"kind": kind, "negatives_each": 7, "teachers": "softmax"}, *learns,
                     (BM25, alone, several)),
        ]  # fmt: skip
    return [plan._replace(seed=seed) for seed in SEEDS for plan in plans]


def run(place: Place) -> str:
    """Train and measure what is not kept, several at a time.

    Raises:
        MissingDataError: PyTorch has no GPU here, or a collection is not there.
    """
    import torch

    if not torch.cuda.is_available():
        raise MissingDataError("these trainings need a GPU that PyTorch can use")
    plans = [plan for plan in planned() if plan.kind in ONLY.split(",") or not ONLY]
    plans.sort(key=lambda plan: "teachers" in plan.options)  # they wait for their teachers
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
    learn, held_out = read_split(collection, LEARN), read_split(collection, TUNE, limit=1000)
    options = dict(plan.options)
    scores = [str(place.work / f"papers.teacher.{seed}.npz") for seed in SEEDS]
    if options.get("loss") == "softmax" and plan.kind == "last_stage":
        options["teaches"] = scores[SEEDS.index(plan.seed)]
    if "teachers" in options:
        options["teachers"] = scores
    trained = TRAIN[plan.kind](
        (collection, learn, held_out),
        {
            **options, "bm25": TUNED.get(plan.learns, BM25Settings()), "titles": titles,
            "seed": plan.seed, "steps": plan.steps, "max_minutes": MINUTES, "evaluations": 6,
        },
    )  # fmt: skip
    on_gpu, report = torch.cuda.is_available(), trained.checkpoint.training
    return {
        "machine": f"one {torch.cuda.get_device_name()}" if on_gpu else "processors",
        "minutes": report["seconds"] / 60,
        "steps": report["steps"],
        "chosen": dict(trained.chosen),
        "values": {name: _values(place, name, trained) for name in plan.ranks},
    }


def _values(place: Place, name: str, trained: Trained) -> Values:
    collection, titles = place.collection(name), name not in UNTITLED
    queries = read_split(collection, "dev", limit=MOST)
    asked = asked_of(collection, queries, TUNED.get(name, BM25Settings()), titles=titles)
    lists = {BM25: asked.found, **trained.rank(asked)}
    return {each: _of_lists(asked.analysed, queries, own) for each, own in lists.items()}


def _of_lists(
    analysed: AnalysedCollection, queries: Sequence[JudgedQuery], lists: Lists
) -> dict[str, dict[str, float]]:
    graded = [grades(analysed, *each) for each in zip(queries, lists, strict=True)]
    ranks = [-np.arange(len(numbers), dtype=np.float32)[:, None] for numbers in lists]
    judged = Judged.from_lists(ranks, [hit for hit, _ in graded], [lost for _, lost in graded])
    scores, ids = judged.scores(np.ones(1)), [query.id for query in queries]
    return {
        name: dict(zip(ids, per_query(judged, scores, parse_measure(name)).tolist(), strict=True))
        for name in MEASURES
    }


def section(found: Sequence[tuple[Training, Mapping[str, Any]]]) -> str:
    """Return what was trained, and how it compares on the queries that both systems ranked."""
    values = {
        (plan.name, plan.seed, name): of_systems
        for plan, each in found
        for name, of_systems in each["values"].items()
    }
    rows, p_values = [], []
    for plan, _ in found:
        for name in plan.ranks:
            for row, p in _compared(plan, name, values):
                rows.append(row)
                p_values.append(p)
    for row, corrected in zip(rows, holm(p_values), strict=True):
        row.append(f"{corrected:.2g}")
    made = [
        [plan.name, plan.learns, plan.seed, f"{each['minutes']:.1f}", f"{each['steps']:,}",
         f"{plan.steps:,}", each["machine"]]
        for plan, each in found
    ]  # fmt: skip
    head = ["ranker", "learned from", "seed", "minutes", "steps", "planned", "machine"]
    tests = ["ranker", "next to", "collection", "seed", "measure", "queries", "its value",
             "the other's", "difference", "seen with 80 %", "p"]  # fmt: skip
    return f"""
The Conformer-Kernel and TK rerank BM25's first 100, cross-encoders its first 50; dense encoders \
search everything. medquad is without titles, and BM25 is tuned. Each training stops after its \
steps or its minutes, whichever come first; minutes are of learning alone.

{table(head, made)}

*Queries* are those of dev that both systems ranked. *Seen with 80 %* is the smallest difference \
that a test of so many queries finds in 80 of 100 cases ({POWER:g} standard errors). Two-sided \
paired t-tests with Holm's correction over the whole table; intervals of 95 %. A seed is a training.

{table(tests, rows)}
"""


def _compared(
    plan: Training, name: str, values: Mapping[tuple[str, int, str], Values]
) -> Iterator[tuple[list[object], float]]:
    """Yield a row without its p-value, and the p-value before its correction."""
    own = values[plan.name, plan.seed, name]
    for other in plan.against:
        of_other = (
            own[other] if other in own else values.get((other, plan.seed, name), {"": {}})[""]
        )
        for measure in MEASURES:
            mine, theirs = own[""].get(measure, {}), of_other.get(measure, {})
            both = [query for query in mine if query in theirs]
            first, second = (_of(each, both) for each in (mine, theirs))
            if (first != second).any():  # a reranker changes no recall
                seen = POWER * float((first - second).std(ddof=1)) / np.sqrt(len(both))
                row: list[object] = [
                    plan.name, other, name, plan.seed, measure, f"{len(both):,}",
                    f"{first.mean():.4f}", f"{second.mean():.4f}", interval(first, second),
                    f"{seen:.3f}",
                ]  # fmt: skip
                yield row, paired_t_test(first, second)


def _of(values: Mapping[str, float], queries: Sequence[str]) -> NDArray[np.float64]:
    return np.array([values[query] for query in queries])
